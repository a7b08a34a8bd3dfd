/** The same server over HTTP, for `npm run dev`: a client stays connected while the process restarts. */
import { createMyServer } from './server.ts'

const { url } = await createMyServer().listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log(`Listening at ${url}`)
