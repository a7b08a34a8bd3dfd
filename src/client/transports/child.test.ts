import { expect, test } from 'vitest'
import { ChildTransport } from './child.ts'
import { echoLines } from '../echo/lines.ts'

test('a process that does not read is no reason for a warning, and what it did not take fails when it is closed', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const args = ['-e', 'process.stdout.write("{}\\n"); setInterval(() => undefined, 1_000)']
  const transport = new ChildTransport({ command: process.execPath, args }, echoLines())
  const running = new Promise((resolve) => (transport.onerror = resolve))
  await transport.start()
  await running
  const params = { text: 'x'.repeat(100_000) }
  const sending = Array.from({ length: 30 }, (_, id) =>
    transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params }),
  )
  const settled = Promise.allSettled(sending)
  await transport.close()
  expect((await settled).at(-1)).toMatchObject({ status: 'rejected' })
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})
