/** A server of ours: over HTTP where the first argument is http, else on standard streams; then its flags. */
import { serverWith } from '../../../docs/snippets/probe.ts'

const [first, ...rest] = process.argv.slice(2)
const server = serverWith(first === 'http' ? rest : process.argv.slice(2))
if (first === 'http') console.log((await server.listen()).url)
else await server.stdio()
