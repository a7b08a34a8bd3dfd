import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { httpLoad } from './bench/load/httpLoad.ts'
import { EchoScript, prepareEchoes } from './bench/load/echoScript.ts'
writeFileSync('ab-ours.ts', `import { createServer } from 'pannier/server'; import { z } from 'zod'
const server = createServer({ name: 'bench', version: '1.0.0', keys: 'A'.repeat(43), logger: { debug(){}, info(){}, warn(){}, error(){} } as any })
server.tool('echo', { description: 'e', input: z.object({ text: z.string() }) }, async (args) => ({ content: [{ type: 'text', text: args.text }] }))
console.log((await server.listen()).port)`)
writeFileSync('ab-floor.ts', `import { createServer } from 'node:http'
const s = createServer((request, response) => { const chunks: Buffer[] = []; request.on('data', (c) => chunks.push(c)); request.on('end', () => { const m = JSON.parse(chunks.length === 1 ? chunks[0]!.toString() : Buffer.concat(chunks).toString())
 const a = JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { resultType: 'complete', content: [{ type: 'text', text: m.params.arguments.text }] } })
 response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(a))]); response.end(a) }) })
s.listen(0, '127.0.0.1', () => console.log((s.address() as any).port))`)
const start = (file: string) => new Promise<{ port: number; pid: number; kill(): void }>((resolve) => {
  const c = spawn('taskset', ['-c', '0', process.execPath, '--conditions=pannier-source', ...(process.argv[2] === 'prof' && file === 'ab-ours.ts' ? ['--cpu-prof', '--cpu-prof-dir=/tmp/mp2'] : []), file], { stdio: ['ignore', 'pipe', 'inherit'] })
  c.stdout.once('data', (d) => resolve({ port: Number(String(d).trim()), pid: c.pid!, kill: () => c.kill(process.argv[2] === 'prof' ? 'SIGTERM' : 'SIGKILL') }))
})
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' '); return (Number(f[11]) + Number(f[12])) / 100 }
const servers = { floor: await start('ab-floor.ts'), ours: await start('ab-ours.ts') }
const rates: Record<string, number[]> = { floor: [], ours: [] }
for (let round = -2; round < 7; round++) for (const [name, s] of Object.entries(servers)) {
  const pool = prepareEchoes({ port: s.port })
  const before = cpu(s.pid)
  const o: any = await httpLoad({ port: s.port, connections: 32, limit: { ms: 2000 } as any, script: (i) => new EchoScript(pool, i * 7) })
  const used = cpu(s.pid) - before
  if (round >= 0) rates[name]!.push(1e6 * used / (o.right ?? o.count ?? o.done))
  if (round === 0) console.log(name, JSON.stringify(o).slice(0, 150))
}
const med = (a: number[]) => [...a].sort((x, y) => x - y)[a.length >> 1]!
console.log('floor', med(rates.floor!).toFixed(1), 'ours', med(rates.ours!).toFixed(1), 'us cpu/req; ratio', (med(rates.floor!) / med(rates.ours!)).toFixed(3), rates.ours!.map((x) => x.toFixed(0)).join(' '), '|', rates.floor!.map((x) => x.toFixed(0)).join(' '))
for (const s of Object.values(servers)) s.kill()
setTimeout(() => process.exit(0), 1500)
