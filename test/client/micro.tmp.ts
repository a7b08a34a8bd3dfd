import { rounds, compose, scope, echo, jar } from 'pannier/client'
import { memoryJar } from 'pannier/state'
const answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }
class T { onmessage: any; onclose: any; onerror: any
  async start() {}
  async close() {}
  async send(m: any) { if (m.id !== undefined && m.method) queueMicrotask(() => this.onmessage({ jsonrpc: '2.0', id: m.id, result: { resultType: 'complete', content: [{ type: 'text', text: 'x' }], _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'x', version: '1' } } } })) } }
const caps = {}
const sets: Record<string, any> = {
  bare: (t: any) => t,
  rounds: rounds({ answerers }), scope: scope(), jar: jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), echo: echo(),
  all: compose(rounds({ answerers }), scope(), jar(memoryJar(), { server: 's.example', principal: 'a', context: 'c' }), echo()),
}
async function run(t: any, n: number, modern: boolean) {
  let resolve: any
  t.onmessage = () => resolve(); t.onclose = () => {}; t.onerror = () => {}
  const t0 = performance.now()
  for (let i = 0; i < n; i++) {
    const p = new Promise(r => resolve = r)
    const _meta = modern ? { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': {name:'a',version:'1'}, 'io.modelcontextprotocol/clientCapabilities': caps } : undefined
    void t.send({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' }, ...(_meta && {_meta}) } }, modern ? { requestSignal: new AbortController().signal } : {})
    await p
  }
  return (performance.now() - t0) / n * 1000
}
for (const modern of [false, true]) for (const [name, layer] of Object.entries(sets)) {
  const t = layer(new T()); await run(t, 20000, modern); const r = []; for (let k = 0; k < 5; k++) r.push(await run(t, 20000, modern))
  console.log(modern ? 'modern' : 'legacy', name, Math.min(...r).toFixed(2), 'us')
}
