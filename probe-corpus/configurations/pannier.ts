/** Our own server, with each of its transports. */
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { call, type Configuration, type Proof, type Truth } from '../configuration.ts'

const program = join(import.meta.dirname, '../programs/pannier.ts')
const hello = [call('hello'), call('hello')]
const inBothEras: Proof = { requests: hello }
const modern: Proof = { requests: hello, era: 'modern' }

const STATELESS = 'What a call keeps is sealed and travels with it; a session id is never required.'
const STATEFUL = 'Its option says that its handlers keep state in the process, so it serves nothing without a session.'

export const OWN: readonly Configuration[] = [
  own('HTTP, both eras', 'http', 'STATELESS', inBothEras, '/mcp'),
  own('HTTP, newer era alone', 'http-modern', 'STATELESS', modern, '/mcp'),
  own('HTTP, stateful', 'http-stateful', 'STATEFUL', inBothEras, '/mcp'),
  own('stdio, both eras', 'stdio', 'STATELESS', inBothEras),
  own('stdio, stateful', 'stdio-stateful', 'STATEFUL', inBothEras),
]

function own(name: string, mode: string, truth: Truth, proof: Proof, path?: string): Configuration {
  const launch = { args: [program, mode, '{port}'], ...(path !== undefined && { path }) }
  const because = truth === 'STATELESS' ? STATELESS : STATEFUL
  return { name: `Pannier, ${name}`, version: manifest.version, launch, truth, because, proof }
}
