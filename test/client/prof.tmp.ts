import { Client as C2, StreamableHTTPClientTransport as H2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as S2 } from '@modelcontextprotocol/client/stdio'
import { rounds, compose, scope, echo, jar, scopeFetch, echoFetch } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { startProgram, commandOf, STDIO_PROGRAM } from '../interop/instances.ts'
const answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
const R = rounds({ answerers }), S = scope(), J = () => jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), E = echo()
const sets: Record<string, any> = { bare: (t: any) => t, rounds: R, scope: S, jar: J(), echo: E, all: compose(R, S, J(), E) }
const http = process.argv[2] === 'http'
const program = http ? await startProgram() : undefined
const clients: any = {}
for (const [n, l] of Object.entries(sets)) { const c = new C2({ name: 'b', version: '1' }, { versionNegotiation: { mode: process.argv[3] as any ?? 'auto' } }); await c.connect(l(http ? new H2(new URL(program!.url)) : new S2(commandOf(STDIO_PROGRAM)))); clients[n] = c }
const run = async (c: any, n: number) => { const c0 = process.cpuUsage(); for (let k = 0; k < n; k++) await c.callTool({ name: 'echo', arguments: { text: 'hello world' } }); const u = process.cpuUsage(c0); return (u.user + u.system) / n }
for (const c of Object.values(clients)) await run(c, 1500)
const res: any = {}
for (let t = 0; t < 15; t++) for (const n of Object.keys(clients)) (res[n] ??= []).push(await run(clients[n], 300))
for (const [n, a] of Object.entries(res) as any) { a.sort((x: number, y: number) => x - y); console.log(n.padEnd(8), 'min', a[0].toFixed(0), 'p25', a[a.length >> 2].toFixed(0), 'med', a[a.length >> 1].toFixed(0)) }
for (const c of Object.values(clients) as any) await c.close()
await program?.kill(); process.exit(0)
