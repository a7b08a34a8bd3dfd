/** The witness: a call that the user names, twice in one process and once in a fresh one. */
import { probe } from 'pannier/probe'
import { expect, test } from 'vitest'

/** A program with one tool, whose answer is an expression that may use `count`. */
function program(answer: string): readonly [string, ...string[]] {
  const code = `
    let count = 0
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const results = {
        initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
        'tools/list': { tools: [{ name: 'get_answer', inputSchema: { type: 'object' } }] },
      }
      if (id === undefined) return
      if (method === 'tools/call') count++
      const result = method === 'tools/call' ? { content: [{ type: 'text', text: String(${answer}) }] } : results[method]
      const said = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, ...said }))
    })`
  return [process.execPath, '-e', code]
}

const witness = { name: 'get_answer' }

test('a process that answers otherwise the second time, and as at first when it is fresh, keeps something', async () => {
  const [counts, again] = await Promise.all([probe(program('count'), { witness }), probe(program('count'))])
  expect(counts).toMatchObject({
    state: 'STATEFUL',
    decidedBy: 'witness',
    protocol: { state: 'STATELESS' },
    process: { state: 'STATEFUL', decidedBy: 'witness' },
  })
  expect(counts.process.because[0]).toContain('otherwise the second time')
  expect(again.process.decidedBy).toBe('tools')
})

test('answers that are alike are evidence that nothing is kept, and answers that always differ are none', async () => {
  const [alike, random] = await Promise.all([
    probe(program('"fixed"'), { witness }),
    probe(program('Math.random()'), { witness }),
  ])
  expect(alike).toMatchObject({ state: 'STATELESS', process: { state: 'STATELESS', decidedBy: 'witness' } })
  expect(random.process).toMatchObject({ decidedBy: 'tools', state: 'STATELESS' })
})

test('a witness without the name of a tool is refused', async () => {
  await expect(probe(program('1'), { witness: { name: '' } })).rejects.toMatchObject({ code: 'PROBE_OPTION_INVALID' })
})
