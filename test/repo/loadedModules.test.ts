import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { envelope, VERSION } from '../fixtures/modernClient.ts'

const run = promisify(execFile)

/** Every module that a process loads when it imports a subpath of the package and does this, and whether it loads SQLite. */
async function loadedBy(subpath: string, work = ''): Promise<{ urls: string[]; sqlite: boolean }> {
  const program = `
    import { registerHooks } from 'node:module'
    const urls = []
    registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context) } })
    const imported = await import('${subpath}')
    ${work}
    const sqlite = process.moduleLoadList.includes('NativeModule sqlite')
    console.log(JSON.stringify({ urls, sqlite }))`
  const flags = ['--conditions=pannier-source', '--input-type=module', '--eval', program]
  const { stdout } = await run(process.execPath, flags)
  return JSON.parse(stdout)
}

const JAR = /\/src\/state\/(jar\/|index\.ts)|\/node_modules\/tldts/

describe('importing a subpath', () => {
  test.each(['pannier/server', 'pannier/sdk', 'pannier/testing', 'pannier/tasks', 'pannier/postgres'])(
    '%s loads what it uses of src/state, but neither the jar with its rules for domains nor SQLite',
    async (subpath) => {
      const { urls, sqlite } = await loadedBy(subpath)
      expect(urls.filter((url) => url.endsWith('/src/state/errors.ts'))).toHaveLength(1)
      expect(urls.filter((url) => JAR.test(url))).toEqual([])
      expect(urls.filter((url) => url.includes('/rate-limiter-flexible/'))).toEqual([])
      expect(sqlite).toBe(false)
    },
  )

  test('pannier/state loads the jar, and SQLite only when a file is opened', async () => {
    const { urls, sqlite } = await loadedBy('pannier/state')
    expect(urls.filter((url) => JAR.test(url))).not.toEqual([])
    expect(sqlite).toBe(false)
  })
})

const BODY = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hello', _meta: envelope() } }
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': VERSION,
  'mcp-method': 'tools/call',
  'mcp-name': 'hello',
}

const ANSWER = `
  const server = imported.createServer({ name: 'minimal', version: '1.0.0' })
  server.tool('hello', { description: 'Greets.' }, () => 'Hello')
  const { url } = await server.listen({ drainOnTerm: false })
  const request = ${JSON.stringify({ method: 'POST', headers: HEADERS, body: JSON.stringify(BODY) })}
  const { status } = await fetch(url, request)
  if (status !== 200) throw new Error('The server answered ' + status)
  setImmediate(() => process.exit())`

/** Modules of our own that a minimal server has loaded at its first answer. More of them make every start slower. */
const MOST_OF_OURS = 195

test('a minimal server loads no package until its first answer, and of Node only what it needs', async () => {
  const { urls } = await loadedBy('pannier/server', ANSWER)
  expect(urls.filter((url) => url.includes('/node_modules/'))).toEqual([])
  expect(urls.filter((url) => url.startsWith('node:')).toSorted()).toEqual([
    'node:buffer',
    'node:crypto',
    'node:fs',
    'node:http',
    'node:net',
    'node:os',
    'node:path',
    'node:timers/promises',
    'node:tty',
    'node:util',
  ])
  expect(urls.filter((url) => url.includes('/src/')).length).toBeLessThanOrEqual(MOST_OF_OURS)
})
