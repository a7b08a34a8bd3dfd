import { createServer, type AddressInfo, Server } from 'node:net'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { assertPortFree } from './listeners.ts'

test('finds out whether a port is free, and listens at none', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const listen = vi.spyOn(Server.prototype, 'listen')
  onTestFinished(() => listen.mockRestore())
  const inUse = assertPortFree({ host: '127.0.0.1', port })
  await expect(inUse).rejects.toMatchObject({ code: 'EADDRINUSE', message: expect.stringContaining(`Port ${port} of`) })
  await once(other.close(), 'close')
  await assertPortFree({ host: '127.0.0.1', port })
  await assertPortFree({ host: '127.0.0.1', port: 0 })
  expect(listen).not.toHaveBeenCalled()
})
