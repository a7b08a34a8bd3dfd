import { createMyServer } from './server.ts'

const { url } = await createMyServer().listen({
  port: Number(process.env['PORT'] ?? 3000),
  host: process.env['HOST'] ?? '127.0.0.1',
})
console.log(`Listening at ${url}`)
