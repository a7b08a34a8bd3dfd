import { expect, test, vi } from 'vitest'
import { StdioTransport } from './stdio.ts'
import { echoLines } from '../echo/layer.ts'

test('a process that does not read is no reason for a warning, and what it did not take fails when it is closed', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const args = ['-e', 'process.stdout.write("{}\\n"); setInterval(() => undefined, 1_000)']
  const transport = new StdioTransport({ command: process.execPath, args }, echoLines())
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

test('what a process has started ends when the process ends by itself', async () => {
  const starts =
    'const { pid } = require("node:child_process").spawn("sleep", ["60"], { stdio: "ignore" }); console.log(JSON.stringify({ jsonrpc: "2.0", method: "started", params: { pid } })); process.stdin.once("data", () => process.exit(1))'
  const transport = new StdioTransport({ command: process.execPath, args: ['-e', starts] }, echoLines())
  const started = new Promise<object>((resolve) => (transport.onmessage = resolve))
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve))
  await transport.start()
  const { pid } = ((await started) as { params: { pid: number } }).params
  await transport.send({ jsonrpc: '2.0', method: 'end' })
  await closed
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 5_000 })
})

test('a process whose messages cannot be read is ended after 1,000 of them', async () => {
  const program = 'process.stdout.write(\'{"jsonrpc"\\n\'.repeat(1500)); setInterval(() => undefined, 1_000)'
  const transport = new StdioTransport({ command: process.execPath, args: ['-e', program] }, echoLines())
  const errors: Error[] = []
  transport.onerror = (error) => void errors.push(error)
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve))
  await transport.start()
  const { pid } = transport
  await closed
  expect(errors).toHaveLength(1001)
  expect(errors.at(-1)?.message).toBe('The server sent 1000 messages in a row that cannot be read.')
  expect(() => process.kill(pid ?? 0, 0)).toThrow('ESRCH')
})
