/** Workers of a gateway that get another file, also while one of them starts, ends or stands still. */
import { expect, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, connectClient, modernServer, stdioEntry } from './fixtures/gateways.ts'
import { textOf } from './fixtures/parkedRounds.ts'
import { descendantsOf } from './fixtures/processTree.ts'
import { allServe, byHand, freeze, FRESH, WORKERS, workersOf } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }

test('with --watch all workers serve another file, and none of them one that cannot be read', async () => {
  const stdio = stdioEntry()
  const gateway = await startGatewayProcess({ stdio }, { ...WORKERS, args: [...WORKERS.args, '--watch'] })
  const client = await connectClient('v1', gateway.url, FRESH)
  await call(client, 'stdio_note', { text: 'milk' })
  gateway.write('{ "mcpServers": ')
  await vi.waitFor(() => expect(gateway.shown()).toContain('was not used, and nothing changes'), PATIENCE)
  gateway.write({ stdio, ours: { url: (await modernServer()).url } })
  await vi.waitFor(() => expect(gateway.shown()).toContain('was read again'), PATIENCE)
  for (let time = 0; time < 4; time++) {
    expect(textOf(await byHand(gateway.url, 'ours_add', { a: 1, b: 2 }))).toBe('3')
    expect(await call(client, 'stdio_recall')).toBe('milk')
  }
  // One that is started later serves the file as it is now.
  process.kill((await workersOf(gateway))[1]!.pid, 'SIGKILL')
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 2 serves again.'), PATIENCE)
  for (let time = 0; time < 4; time++) expect(textOf(await byHand(gateway.url, 'ours_add', { a: 1, b: 2 }))).toBe('3')
})

test('a worker that starts while another file is read serves that one', async () => {
  const gateway = await startGatewayProcess({ ours: { url: (await modernServer()).url } }, WORKERS)
  const before = await workersOf(gateway)
  process.kill(before[1]!.pid, 'SIGKILL')
  const isNew = (pid: number): boolean => before.every((worker) => worker.pid !== pid)
  await vi.waitFor(() => expect(descendantsOf(gateway.pid).filter(isNew)).toHaveLength(1), PATIENCE)
  await gateway.reload({ theirs: { url: (await modernServer()).url } })
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 2 serves again.'), PATIENCE)
  for (let time = 0; time < 4; time++) {
    expect(textOf(await byHand(gateway.url, 'theirs_add', { a: 1, b: 2 }))).toBe('3')
    expect((await byHand(gateway.url, 'ours_add', { a: 1, b: 2 })).code).toBe(-32602)
  }
})

test('a worker that ends while another file is read keeps nobody from serving it', async () => {
  const gateway = await startGatewayProcess({ ours: { url: (await modernServer()).url } }, WORKERS)
  await freeze(gateway, 2)
  await gateway.reload({ theirs: { url: (await modernServer()).url } })
  const servers = async () => (await fetch(`${gateway.admin}servers`)).text()
  await vi.waitFor(async () => expect(await servers()).toContain('theirs'), PATIENCE)
  expect(gateway.shown()).not.toContain('was not used')
  expect(gateway.shown()).toContain('Worker 2 does not answer, and is ended.')
  await vi.waitFor(() => expect(gateway.shown()).toContain('Worker 2 serves again.'), PATIENCE)
  await allServe(gateway)
}, 60_000)
