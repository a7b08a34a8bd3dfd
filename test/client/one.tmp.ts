import { Client as C2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as S2 } from '@modelcontextprotocol/client/stdio'
import { rounds, compose, scope, echo, jar } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { commandOf, STDIO_PROGRAM } from '../interop/instances.ts'
const answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
const layers = compose(rounds({ answerers }), scope(), jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), echo())
const c = new C2({ name: 'b', version: '1' }, { versionNegotiation: { mode: 'auto' } })
await c.connect(layers(new S2(commandOf(STDIO_PROGRAM))))
for (let k = 0; k < 40000; k++) await c.callTool({ name: 'echo', arguments: { text: 'hello world' } })
await c.close()
