import { Client as C1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as H1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioClientTransport as S1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client as C2, StreamableHTTPClientTransport as H2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as S2 } from '@modelcontextprotocol/client/stdio'
import { rounds, compose, scope, echo, echoFetch, scopeFetch, jar, modern, modernFetch } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { startProgram, commandOf, STDIO_PROGRAM } from '../interop/instances.ts'
const me = { name: 'b', version: '1' }
const answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
const layers = () => compose(rounds({ answerers }), scope(), jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), echo())
const none = (t: any) => t
const program = await startProgram()
const url = new URL(program.url)
const pairs: Record<string, (layered: boolean) => Promise<any>> = {
  'v2 http modern': async (l) => { const c = new C2(me, { versionNegotiation: { mode: 'auto' } }); await c.connect((l ? layers() : none)(new H2(url))); return c },
  'v2 http modern + fetch seams': async (l) => { const c = new C2(me, { versionNegotiation: { mode: 'auto' } }); await c.connect((l ? layers() : none)(new H2(url, l ? { fetch: scopeFetch(echoFetch()) } : {}))); return c },
  'v1 http session + fetch seams': async (l) => { const c = new C1(me); await c.connect((l ? layers() : none)(new H1(url, l ? { fetch: scopeFetch(echoFetch()) } : {})) as any); return c },
  'v1 http session, layers only': async (l) => { const c = new C1(me); await c.connect((l ? layers() : none)(new H1(url)) as any); return c },
  'v2 http session + fetch seams': async (l) => { const c = new C2(me); await c.connect((l ? layers() : none)(new H2(url, l ? { fetch: scopeFetch(echoFetch()) } : {})) as any); return c },
  'v1 stdio session': async (l) => { const c = new C1(me); await c.connect((l ? layers() : none)(new S1(commandOf(STDIO_PROGRAM))) as any); return c },
  'v2 stdio modern': async (l) => { const c = new C2(me, { versionNegotiation: { mode: 'auto' } }); await c.connect((l ? layers() : none)(new S2(commandOf(STDIO_PROGRAM))) as any); return c },
}
const calls = 400, turns = 24
const only = process.argv[2]
for (const [name, make] of Object.entries(pairs)) {
  if (only && !name.includes(only)) continue
  const clients = [await make(false), await make(true)]
  const wall: number[][] = [[], []], cpu: number[][] = [[], []]
  const run = async (i: number, n: number) => {
    const c0 = process.cpuUsage(), t0 = performance.now()
    for (let k = 0; k < n; k++) await clients[i].callTool({ name: 'echo', arguments: { text: 'hello world' } })
    const t = (performance.now() - t0) / n, c = process.cpuUsage(c0)
    return [t * 1000, (c.user + c.system) / n]
  }
  for (const i of [0, 1]) await run(i, 800)
  for (let turn = 0; turn < turns; turn++) for (const i of turn % 2 ? [1, 0] : [0, 1]) { const [w, c] = await run(i, calls); wall[i].push(w); cpu[i].push(c) }
  const med = (a: number[]) => a.toSorted((x, y) => x - y)[a.length >> 1]
  const ratios = wall[0].map((w, k) => wall[1][k] / w)
  const cr = cpu[0].map((w, k) => cpu[1][k] / w)
  console.log(name.padEnd(34), 'bare', med(wall[0]).toFixed(0), 'us, layered', med(wall[1]).toFixed(0), 'us, ratio', med(ratios).toFixed(3), '| cpu', med(cpu[0]).toFixed(0), med(cpu[1]).toFixed(0), med(cr).toFixed(3))
  await Promise.all(clients.map((c) => c.close()))
}
await program.kill()
process.exit(0)
