import { fileURLToPath } from 'node:url'
import { inspectorDriver } from '../../drivers/inspector.js'

const folder = new URL('node_modules/@modelcontextprotocol/inspector/', import.meta.url)
const ERAS = { session: 'legacy', stateless: 'modern' }

export default inspectorDriver(fileURLToPath(new URL('clients/launcher/build/index.js', folder)), (era) => [
  '--protocol-era',
  ERAS[era],
  '--format',
  'json',
])
