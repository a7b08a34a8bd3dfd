import { createMyServer } from './server.ts'

const server = createMyServer()

export default { fetch: server.fetch }
