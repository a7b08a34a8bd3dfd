import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { call, envelope, post } from '../fixtures/modernClient.ts'

function start(mode: 'listen' | 'stdio', level?: string, more: string[] = []) {
  const { PANNIER_LOG_LEVEL: _, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=pannier-source', 'test/e2e/programs/logged.ts', mode, ...more], {
    env: { ...env, ...(level !== undefined && { PANNIER_LOG_LEVEL: level }) },
  })
  const written = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (written.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (written.stderr += chunk.toString()))
  const lines = (name: 'stdout' | 'stderr') => written[name].split('\n').filter(Boolean)
  return { child, lines, logged: () => lines('stderr').map((line) => JSON.parse(line)) }
}

test('listen logs by pino on standard error, from info up', async () => {
  const { child, lines, logged } = start('listen')
  await once(child.stdout, 'data')
  const url = lines('stdout')[0] ?? ''
  expect((await call(url, 'hello')).status).toBe(200)
  expect((await post(url, { method: 'no/such' })).status).toBe(404)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(logged()[0]).toMatchObject({
    name: 'pannier',
    level: 40,
    msg: expect.stringContaining('No keys are configured'),
  })
  expect(logged().map(({ msg }) => msg)).toEqual([expect.any(String), 'Listening.', 'Draining.', 'Drained.'])
  expect(lines('stdout')).toEqual([url])
})

test('stdio logs by pino on standard error, so that standard output has messages alone', async () => {
  const { child, lines, logged } = start('stdio', 'debug')
  const request = (id: number, method: string, params: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope() } })}\n`
  child.stdin.write(request(1, 'tools/call', { name: 'hello', arguments: {} }))
  child.stdin.end(request(2, 'no/such', {}))
  await once(child, 'close')
  expect(logged()).toMatchObject([
    { name: 'pannier', level: 20, code: 'METHOD_UNKNOWN', msg: 'A request was refused.' },
  ])
  expect(
    lines('stdout')
      .map((line) => JSON.parse(line).id as number)
      .toSorted((a, b) => a - b),
  ).toEqual([1, 2])
})

test('on stdio the console writes to standard error, and one line says so', async () => {
  const { child, lines } = start('stdio')
  const params = { name: 'chat', arguments: {}, _meta: envelope() }
  const request = (id: number) => `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`
  child.stdin.end(`${request(1)}${request(2)}`)
  await once(child, 'close')
  expect(lines('stdout').map((line) => JSON.parse(line).result.content[0].text)).toEqual(['written', 'written'])
  const written = lines('stderr')
  expect(written.filter((line) => line.startsWith('from '))).toEqual(['from log', 'from info', 'from log', 'from info'])
  expect(written.filter((line) => line.includes('table'))).toHaveLength(2)
  const warnings = written.filter((line) => line.includes('console.error'))
  expect(warnings.map((line) => JSON.parse(line))).toMatchObject([{ level: 40 }])
})

test('the console writes to standard error as soon as stdio is called', async () => {
  const { child, lines } = start('stdio', undefined, ['eager'])
  child.stdin.end()
  await once(child, 'close')
  expect(lines('stdout')).toEqual([])
  expect(lines('stderr').filter((line) => line === 'started')).toHaveLength(1)
  expect(lines('stderr').filter((line) => line.includes('console.error'))).toHaveLength(1)
})
