import { Client as C1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as H1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioClientTransport as S1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client as C2, StreamableHTTPClientTransport as H2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as S2 } from '@modelcontextprotocol/client/stdio'
import { rounds, compose, scope, echo, jar, scopeFetch, echoFetch } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { startProgram, commandOf, STDIO_PROGRAM } from '../interop/instances.ts'
const me = { name: 'b', version: '1' }
const answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
const layers = () => compose(rounds({ answerers }), scope(), jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), echo())
const none = (t: any) => t
const program = await startProgram()
const url = new URL(program.url)
const seams = (l: boolean) => (l ? { fetch: scopeFetch(echoFetch()) } : {})
const auto = { versionNegotiation: { mode: 'auto' } } as const
const pairs: Record<string, (l: boolean) => Promise<any>> = {
  'v2 HTTP modern': async (l) => { const c = new C2(me, auto); await c.connect((l ? layers() : none)(new H2(url, seams(l)))); return c },
  'v2 HTTP session': async (l) => { const c = new C2(me); await c.connect((l ? layers() : none)(new H2(url, seams(l)))); return c },
  'v1 HTTP session': async (l) => { const c = new C1(me); await c.connect((l ? layers() : none)(new H1(url, seams(l))) as any); return c },
  'v2 stdio modern': async (l) => { const c = new C2(me, auto); await c.connect((l ? layers() : none)(new S2(commandOf(STDIO_PROGRAM)))); return c },
  'v1 stdio session': async (l) => { const c = new C1(me); await c.connect((l ? layers() : none)(new S1(commandOf(STDIO_PROGRAM))) as any); return c },
}
const med = (a: number[]) => a.toSorted((x, y) => x - y)[a.length >> 1]!
const low = (a: number[]) => a.toSorted((x, y) => x - y)[Math.floor(a.length / 10)]!
for (const [name, make] of Object.entries(pairs)) {
  if (process.argv[2] && !name.includes(process.argv[2])) continue
  const clients = [await make(false), await make(true)]
  const run = async (i: number, n: number) => { const c0 = process.cpuUsage(), t0 = performance.now(); for (let k = 0; k < n; k++) await clients[i].callTool({ name: 'echo', arguments: { text: 'hello world' } }); const u = process.cpuUsage(c0); return [(u.user + u.system) / n, (performance.now() - t0) * 1000 / n] }
  for (const i of [0, 1, 0, 1]) await run(i, 1500)
  const cpu: number[][] = [[], []], wall: number[][] = [[], []]
  for (let t = 0; t < 150; t++) for (const i of t % 2 ? [1, 0] : [0, 1]) { const [c, w] = await run(i, 60); cpu[i]!.push(c!); wall[i]!.push(w!) }
  const r = (a: number[][]) => med(a[0]!.map((x, k) => a[1]![k]! / x)).toFixed(3)
  console.log(name.padEnd(18), `wall p10 ${low(wall[0]!).toFixed(0)} -> ${low(wall[1]!).toFixed(0)} (${(low(wall[1]!) / low(wall[0]!)).toFixed(3)}), paired median ${r(wall)} | cpu p10 ${low(cpu[0]!).toFixed(0)} -> ${low(cpu[1]!).toFixed(0)} (${(low(cpu[1]!) / low(cpu[0]!)).toFixed(3)}), paired ${r(cpu)}`)
  await Promise.all(clients.map((c) => c.close()))
}
await program.kill(); process.exit(0)
