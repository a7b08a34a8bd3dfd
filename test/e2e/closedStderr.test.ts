import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { env } from './fixtures/instances.ts'

test('a server whose log nobody reads any more still ends on SIGTERM', async () => {
  const program = join(import.meta.dirname, '../../examples/first-tool/server.ts')
  const child = spawn(process.execPath, ['--conditions=pannier-source', program], {
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await once(child.stdout, 'data') // it listens
  child.stderr.destroy()
  child.kill('SIGTERM')
  const [code] = (await once(child, 'exit')) as [number | null]
  expect(code).toBe(0)
})
