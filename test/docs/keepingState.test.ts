import { mkdtempSync, rmSync, statSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Client, FetchLike } from '@modelcontextprotocol/client'
import { connect, type Notice } from 'pannier/client'
import { createServer } from 'pannier/server'
import { type Jar, jarServerOf, memoryJar } from 'pannier/state'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { server as notes } from '../../docs/snippets/client-state.ts'
import {
  connectIn,
  endConversation,
  forgetServer,
  keptFor,
  lineOf,
  openJar,
  strictJar,
} from '../../docs/snippets/keeping-state.ts'
import { readText } from '../../scripts/repository.ts'
import { proves } from '../proves.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const guide = readText('docs/how-to/keeping-state.md')
const ann = { user: 'ann', id: 'chat-1' }
const NOTES = 'https://notes.example.com/mcp'

/** A server without a network, under any address. */
const reach = (server: { fetch(request: Request): Promise<Response> }): { fetch: FetchLike } => ({
  fetch: (url, init) => server.fetch(new Request(url, init)),
})

function jarFile(): { path: string; jar: Jar } {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-'))
  const path = join(folder, 'jar.db')
  const jar = openJar(path)
  onTestFinished(() => {
    jar.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { path, jar }
}

async function using<Result>(connecting: Promise<Client>, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connecting
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

const call = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> => {
  const { content } = await client.callTool({ name, arguments: args })
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** Remembers anything, in either scope. */
function rememberingServer() {
  const server = createServer({ name: 'remembering', version: '1.0.0' })
  const input = z.object({ scope: z.enum(['session', 'server']), name: z.string(), value: z.unknown() })
  server.tool('remember', { description: 'Remembers.', input }, ({ scope, name, value }, ctx) => {
    ctx.state[scope].set(name, value)
    return 'set'
  })
  server.tool('recall', { description: 'Recalls.', input: input.omit({ value: true }) }, ({ scope, name }, ctx) =>
    JSON.stringify(ctx.state[scope].get(name) ?? null),
  )
  server.tool('visit', { description: 'Counts.' }, async (_, ctx) => {
    const { data: before = 0 } = z.number().safeParse(ctx.state.server.get('visits'))
    await setImmediate()
    ctx.state.server.set('visits', before + 1)
    return `visit ${before + 1}`
  })
  return server
}

describe('docs/snippets/keeping-state.ts', () => {
  test('state is there for the same user in the next connection, and for nobody else', async () => {
    const { jar } = jarFile()
    const open = (conversation: typeof ann, url = NOTES) => connectIn(conversation, url, jar, reach(notes))
    expect(await using(open(ann), (client) => call(client, 'set_theme', { theme: 'dark' }))).toBe('The theme is dark.')
    expect(await using(open({ ...ann, id: 'chat-2' }), (client) => call(client, 'show_theme'))).toMatch('dark')
    expect(await using(open({ ...ann, user: 'bob' }), (client) => call(client, 'show_theme'))).toMatch('light')
    const cousin = open(ann, 'https://api.notes.example.com/mcp')
    expect(await using(cousin, (client) => call(client, 'show_theme'))).toMatch('light')
  })

  test('session state ends with its conversation, or with the client where none is named', async () => {
    const { jar } = jarFile()
    const options = reach(rememberingServer())
    const args = { scope: 'session', name: 'cart' }
    const open = () => connectIn(ann, NOTES, jar, options)
    await using(open(), (client) => call(client, 'remember', { ...args, value: [1] }))
    expect(await using(open(), (client) => call(client, 'recall', args))).toBe('[1]')
    await endConversation(ann, jar)
    expect(await using(open(), (client) => call(client, 'recall', args))).toBe('null')

    const unnamed = () => connect(NOTES, { ...options, jar, principal: 'ann' })
    await using(unnamed(), (client) => call(client, 'remember', { ...args, value: [2] }))
    expect(await using(unnamed(), (client) => call(client, 'recall', args))).toBe('null')
    expect(await keptFor('ann', jar)).toEqual([])
  })

  test('a server goes on when a user clears what it kept', async () => {
    const { jar } = jarFile()
    await using(connectIn(ann, NOTES, jar, reach(notes)), async (client) => {
      await call(client, 'set_theme', { theme: 'dark' })
      expect(await keptFor('ann', jar)).toMatchObject([{ server: 'notes.example.com', scope: 'server', name: 'theme' }])
      expect(await forgetServer('ann', 'notes.example.com', jar)).toBe(1)
      expect(await call(client, 'show_theme')).toBe('The theme is light.')
    })
  })

  test('the file is private to its user, and not encrypted', async () => {
    const { jar, path } = jarFile()
    await using(connectIn(ann, NOTES, jar, reach(rememberingServer())), (client) =>
      call(client, 'remember', { scope: 'server', name: 'key', value: 'in-clear' }),
    )
    const files = [path, `${path}-wal`]
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(files.map((file) => readFileSync(file, 'latin1')).join('')).toContain('in-clear')
  })

  test('what is too large is refused and told, the old value stays, and the call goes on', async () => {
    const told: (string | undefined)[] = []
    const onNotice = (notice: Notice) => void told.push(lineOf(notice))
    const options = { ...reach(rememberingServer()), onNotice }
    const args = { scope: 'server', name: 'big' }
    await using(connectIn(ann, NOTES, memoryJar(), options), async (client) => {
      await call(client, 'remember', { ...args, value: 'small' })
      expect(await call(client, 'remember', { ...args, value: 'x'.repeat(5000) })).toBe('set')
      expect(await call(client, 'recall', args)).toBe('"small"')
      for (let n = 0; n < 20; n++) await call(client, 'remember', { scope: 'server', name: `n${n}`, value: n })
      expect(await call(client, 'recall', args)).toBe('null')
    })
    expect(told).toEqual([
      'refused: server state "big". Name and value have 5005 bytes; the limit is 4096.',
      'evicted: server state "big". The server has more than 20 names. This one, of notes.example.com, was unused the longest.',
    ])
  })

  test('what lies at another address of this kind is not kept, and the host is told why', async () => {
    const told: (string | undefined)[] = []
    const options = { ...reach(notes), onNotice: (notice: Notice) => void told.push(lineOf(notice)) }
    const local = (more: object) => connectIn(ann, 'http://localhost:3000/mcp', jar, { ...options, ...more })
    const { jar } = jarFile()
    expect(await using(local({}), (client) => call(client, 'set_theme', { theme: 'dark' }))).toMatch('keeps no state')
    expect(told).toEqual(['No state is kept for localhost. Use allowLocal (--allow-local) while you develop.'])
    expect(await using(local({ allowLocal: true }), (client) => call(client, 'set_theme', { theme: 'dark' }))).toBe(
      'The theme is dark.',
    )
    expect(await keptFor('ann', jar)).toMatchObject([{ server: 'localhost:3000' }])
  })

  test('calls in parallel read the same value, and the last write wins', async () => {
    await using(connectIn(ann, NOTES, memoryJar(), reach(rememberingServer())), async (client) => {
      expect(await Promise.all([call(client, 'visit'), call(client, 'visit')])).toEqual(['visit 1', 'visit 1'])
      expect(await call(client, 'recall', { scope: 'server', name: 'visits' })).toBe('1')
      expect(await call(client, 'visit')).toBe('visit 2')
    })
  })

  test('limits and ages are options', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-'))
    const jar = strictJar(join(folder, 'jar.db'))
    onTestFinished(() => {
      jar.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const owner = { server: 'notes.example.com', principal: 'ann', context: 'chat-1' }
    const news = await jar.write(owner, { server: { big: 'x'.repeat(2000) } })
    expect(news).toMatchObject([{ kind: 'refused', name: 'big' }])
  })
})

describe('docs/reference/jar.md', () => {
  const rows = [...readText('docs/reference/jar.md').matchAll(/^\| `(https?:[^`]+)` \| (.+) \|$/gm)].map(
    ([, url = '', name = '']) => [url, name],
  )

  test('its table of names has names and refusals', () => {
    expect(rows.length).toBeGreaterThan(6)
  })

  test.each(rows)('its table of names is right about %s', (url, cell) => {
    const place = jarServerOf({ url })
    expect('server' in place ? `\`${place.server}\`` : 'none').toBe(cell)
  })

  proves('CS-26', 'the guide names the risks: trust in DNS, and two servers at one path', () => {
    const [, risks = ''] = guide.split('## What to know before you trust it\n')
    expect(risks).toMatch(/DNS/)
    expect(risks).toMatch(/Two stdio servers at one path/)
    const [one, two] = ['a', 'b'].map((token) =>
      jarServerOf({ command: process.execPath, args: ['package.json'], env: { TOKEN: token } }),
    )
    expect(one).toEqual(two)
  })
})
