import { fileURLToPath } from 'node:url'
import { inspectorDriver } from '../../drivers/inspector.js'

const folder = new URL('node_modules/@modelcontextprotocol/inspector/', import.meta.url)

export default inspectorDriver(fileURLToPath(new URL('cli/build/cli.js', folder)))
