import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newKey } from 'pannier/state'
import { afterAll, afterEach, expect, test } from 'vitest'
import { quickStart } from '../../bundle/environment.ts'
import { proves } from '../../proves.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-suspension-'))
const done = join(folder, 'done')
const file = join(folder, 'call.json')
const keys = newKey()
const shops: ChildProcess[] = []

afterEach(() => {
  for (const shop of shops.splice(0)) shop.kill('SIGKILL')
  for (const path of [done, file]) rmSync(path, { force: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function command(program: string, ...args: string[]): [string, string[]] {
  const path = fileURLToPath(new URL(`../programs/${program}`, import.meta.url))
  return [process.execPath, ['--conditions=pannier-source', path, ...args]]
}

interface Shop {
  readonly url: string
  /** Gone without a goodbye. */
  kill(): Promise<void>
}

async function openShop(env: Record<string, string> = {}): Promise<Shop> {
  const all = {
    PATH: process.env['PATH'],
    ...quickStart,
    PANNIER_KEYS: keys,
    PANNIER_LOG_LEVEL: 'silent',
    DONE: done,
    ...env,
  }
  const [node, args] = command('shop.ts')
  const child = spawn(node, args, { env: all, stdio: ['ignore', 'pipe', 'inherit'] })
  shops.push(child)
  const gone = once(child, 'exit')
  for await (const url of createInterface(child.stdout)) {
    return { url, kill: async () => void (child.kill('SIGKILL'), await gone) }
  }
  throw new Error('The shop ended before it said where it is.')
}

/** Another process of the host: what it prints, and that it prints nothing else. */
async function host(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await promisify(execFile)(...command('suspendingHost.ts', ...args))
  expect(stderr).toBe('')
  return JSON.parse(stdout) as Record<string, unknown>
}

const portOf = (url: string): string => new URL(url).port

proves(
  'MRTR-9 MRTR-23 MRTR-25',
  'a call is put to sleep twice and finished days later, while client and server are new processes each time',
  async () => {
    const monday = await openShop()
    const PORT = portOf(monday.url)
    expect(await host('start', monday.url, file)).toEqual({ waitsFor: ['size'] })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const saved = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    expect(saved).toMatchObject({
      version: 1,
      target: monday.url,
      server: 'shop',
      method: 'tools/call',
      params: { name: 'order', arguments: { item: 'hat' } },
      inputRequests: { size: { method: 'elicitation/create' } },
      inputResponses: { where: { roots: [expect.anything()] } },
      requestState: expect.any(String),
    })
    expect(saved['params']).not.toHaveProperty('_meta')
    await monday.kill()

    const thursday = await openShop({ PORT, DAYS: '3' })
    expect(await host('resume', file, '{"size":{"size":"large"}}')).toEqual({ waitsFor: ['confirm'] })
    await thursday.kill()

    await openShop({ PORT, DAYS: '9' })
    expect(await host('resume', file, '{"confirm":{"sure":true}}')).toEqual({ said: 'Order 42: large hat' })
    expect(readFileSync(done, 'utf8')).toBe('reserved hat\n')
    expect(existsSync(file)).toBe(false)
  },
)

proves('MRTR-32', 'a suspended question can be declined later', async () => {
  const shop = await openShop()
  await host('start', shop.url, file)
  expect(await host('resume', file, '{"size":"decline"}')).toEqual({ said: 'The question "size" was declined.' })
})

test('a state that the server refuses is an error, and nothing of it is shown; the saved call stays', async () => {
  const shop = await openShop()
  await host('start', shop.url, file)
  const { requestState } = JSON.parse(readFileSync(file, 'utf8')) as { requestState: string }
  await shop.kill()
  await openShop({ PORT: portOf(shop.url), DAYS: '8' })
  const late = await host('resume', file, '{"size":{"size":"large"}}')
  expect(late).toMatchObject({ code: -32602, error: expect.stringContaining('not valid') })
  expect(JSON.stringify(late)).not.toContain(requestState)
  expect(existsSync(file)).toBe(true)
})

test('nothing is sent with answers that miss a question or do not fit; the call can be resumed with better ones', async () => {
  const shop = await openShop()
  await host('start', shop.url, file)
  expect(await host('resume', file, '{}')).toMatchObject({ code: 'QUESTION_UNANSWERED' })
  expect(await host('resume', file, '{"size":{"size":"enormous"}}')).toMatchObject({ code: 'RESPONSE_INVALID' })
  expect(await host('resume', file, '{"size":{"size":"small"}}')).toEqual({ waitsFor: ['confirm'] })
})

test('a saved call that was cut or is of a newer version says so', async () => {
  const [cut, newer, none] = ['cut', 'newer', 'none'].map((name) => join(folder, `${name}.json`)) as [
    string,
    string,
    string,
  ]
  writeFileSync(cut, '{"version":1,"requestState":"sec')
  writeFileSync(newer, '{"version":2}')
  expect(await Promise.all([cut, newer, none].map((path) => host('resume', path, '{}')))).toMatchObject([
    { code: 'SAVED_INVALID', error: expect.not.stringContaining('sec') },
    { code: 'SAVED_NEWER' },
    { code: 'SAVED_UNUSABLE' },
  ])
})
