import { createMyServer } from './server.ts'

// Standard output belongs to the protocol. Print with console.error.
await createMyServer().stdio()
