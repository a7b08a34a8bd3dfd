/** What a gateway with workers says of its servers and of how it is set up. */
import { expect, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'

const PATIENCE = { timeout: 30_000 }
const workers = { args: ['--workers', '2'], env: { PANNIER_LOG_LEVEL: 'warn' } }

const count = (text: string, part: string): number => text.split(part).length - 1

test('a server that is not there at the start is in the log, once for each worker', async () => {
  const { shown } = await startGatewayProcess({ gone: { url: 'http://127.0.0.1:1/' } }, workers)
  await vi.waitFor(() => expect(count(shown(), 'A server is not there.')).toBe(2), PATIENCE)
  expect(shown()).toMatch(/"server":"gone","why":"it cannot be reached/)
})
