import { expect, onTestFinished, test } from 'vitest'
import { openReplicaListener } from './listeners.ts'

const SEALED = 'application/vnd.pannier.instance'

test('at the address for other gateways, only what may be one of their messages is looked at', async () => {
  const served: string[] = []
  const { base, connections } = await openReplicaListener(
    { host: '127.0.0.1', port: 0 },
    ({ method, headers }, res) => {
      served.push(`${method} ${headers['content-type']}`)
      res.end()
    },
  )
  onTestFinished(() => connections.close(0))
  const statusOf = async (method: string, type: string): Promise<number> => {
    const body = method === 'POST' ? '{}' : null
    const response = await fetch(base, { method, body, headers: { 'content-type': type } })
    await response.text()
    return response.status
  }
  expect(await statusOf('POST', 'application/json')).toBe(404)
  expect(await statusOf('GET', SEALED)).toBe(404)
  expect(await statusOf('POST', SEALED)).toBe(200)
  expect(served).toEqual([`POST ${SEALED}`])
})
