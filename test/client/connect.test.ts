/** The ready-made client against servers of three makers, over HTTP and as a child process, in both eras. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { type ConnectOptions, connect, fixed, type Notice, type Target } from 'pannier/client'
import { memoryJar } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { quickStart } from '../bundle/environment.ts'
import {
  commandOf,
  type RunningServer,
  type Maker,
  places,
  startServer,
  startServers,
} from './fixtures/servers/start.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-connect-'))
const done = join(folder, 'done')
const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const soup = () => ({ action: 'accept', content: { dish: 'stew' } })

let kitchens: ReadonlyMap<Maker, RunningServer>

beforeAll(async () => {
  writeFileSync(done, '')
  kitchens = await startServers({ DONE: done })
})
afterAll(() => {
  for (const kitchen of kitchens.values()) kitchen.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What servers note from now on. */
function notes(): () => string {
  const before = readFileSync(done, 'utf8').length
  return () => readFileSync(done, 'utf8').slice(before)
}

async function using<Result>(target: Target, options: ConnectOptions, work: (client: Client) => Promise<Result>) {
  const client = await connect(target, options)
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

function targetOf({ maker, host }: (typeof places)[number]): Target {
  if (host === 'http') return kitchens.get(maker)?.url ?? ''
  return { command: process.execPath, args: commandOf(maker, 'stdio').slice(1), env: { ...quickStart, DONE: done } }
}

describe.each(places)('connected to $name', (place) => {
  const { maker, host, era } = place
  const target = (): Target => targetOf(place)

  test('the client is in the era of its server and can use it', async () => {
    await using(target(), {}, async (client) => {
      expect(client.getNegotiatedProtocolVersion()).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25')
      expect(client.getServerVersion()).toMatchObject({ name: 'kitchen' })
      expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject(text('3'))
      expect((await client.listResources()).resources).toHaveLength(2)
    })
  })

  proves('MRTR-23', `questions of ${maker} over ${host} reach the answerers of the call`, async () => {
    const asked: unknown[] = []
    const form: NonNullable<ConnectOptions['answerers']>['form'] = ({ request, server }) => {
      asked.push([request.method, server.name])
      return soup()
    }
    await using(target(), { answerers: { form } }, async (client) => {
      expect(await client.callTool({ name: 'cook' })).toMatchObject(text('Here is your stew.'))
    })
    expect(asked).toEqual([['elicitation/create', 'kitchen']])
  })

  test('a call that is open when the client closes ends with that, and is not called lost', async () => {
    const client = await connect(target())
    const noted = notes()
    const simmering = client.callTool({ name: 'simmer' })
    simmering.catch(() => undefined)
    await expect.poll(noted).toMatch('simmering')
    await client.close()
    await expect(simmering).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  })

  test('a call that is cancelled before the client closes is cancelled on the server', async () => {
    const noted = notes()
    const abort = new AbortController()
    await using(target(), {}, async (client) => {
      const simmering = client.callTool({ name: 'simmer' }, { signal: abort.signal })
      await expect.poll(noted).toMatch('simmering')
      abort.abort()
      await expect(simmering).rejects.toThrow()
    })
    await expect.poll(noted).toMatch('cancelled')
  })
})

test('nobody hurries the person who answers, and the server may not be silent for ever, at each place', async () => {
  const timeoutMs = 2000 // as long as a server may take to start an answer on a busy machine
  const cook = async (place: (typeof places)[number]): Promise<void> => {
    await using(targetOf(place), { timeoutMs }, async (waiting) => {
      const form = async () => {
        const simmering = waiting.callTool({ name: 'simmer' })
        await expect(simmering, place.name).rejects.toMatchObject({ data: { code: 'REQUEST_TIMED_OUT' } })
        return soup()
      }
      await using(targetOf(place), { answerers: { form }, timeoutMs }, async (client) => {
        expect(await client.callTool({ name: 'cook' }), place.name).toMatchObject(text('Here is your stew.'))
      })
    })
  }
  await Promise.all(places.map(cook))
})

describe('a child process', () => {
  const odd = (habit: string): Target => commandOf('oddServer', habit)
  const ids = async (client: Client): Promise<number[]> => {
    const { content } = (await client.callTool({ name: 'ids' })) as { content: { text: string }[] }
    return (content[0]?.text ?? '').split(' ').filter(Boolean).map(Number)
  }

  test('that ends when it is asked before initialize is started again and asked that', async () => {
    const found = await using(odd('dies'), {}, async (client) => [
      client.getNegotiatedProtocolVersion(),
      await ids(client),
    ])
    expect(found).toMatchObject(['2025-11-25', { length: 1 }])
  })

  test('that does not answer before initialize is taken for one of the older era', async () => {
    const probe: ConnectOptions = { client: { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 300 } } } }
    expect(await using(odd('deaf'), probe, ids)).toHaveLength(1)
  })

  test('may print other lines between its messages', async () => {
    const notices: Notice[] = []
    expect(await using(odd('noisy'), { onNotice: (notice) => notices.push(notice) }, ids)).toHaveLength(1)
    expect(notices.some(({ kind }) => kind === 'error')).toBe(true)
  })

  test('is gone after close, with whatever it started, however stubborn', async () => {
    const all = await using(odd('parent'), {}, ids)
    expect(all).toHaveLength(2)
    for (const id of all) expect(() => process.kill(id, 0)).toThrow('ESRCH')
  })

  test('that cannot start is an error that says how it ended, and its last words are told', async () => {
    const notices: Notice[] = []
    const connecting = connect(odd('broken'), { onNotice: (notice) => notices.push(notice) })
    await expect(connecting).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringMatching(/exit code 3/),
    })
    expect(notices).toContainEqual({ kind: 'stderr', line: '\u001b[31mThe oven is missing.' })
    await expect(connect([join(folder, 'none')])).rejects.toMatchObject({
      message: expect.stringMatching(/no such program/),
    })
  })
})

describe('over HTTP', () => {
  test('headers and bearer tokens go with each request, and a missing one is said so', async () => {
    const guarded = await startServer('pannierServer', {}, 'token')
    const who = (client: Client) => client.callTool({ name: 'who' })
    expect(await using(guarded.url, { bearer: 'ann' }, who)).toMatchObject(text('ann'))
    expect(await using(guarded.url, { bearer: async () => 'bob' }, who)).toMatchObject(text('bob'))
    expect(await using(guarded.url, { headers: { Authorization: 'Bearer eve' } }, who)).toMatchObject(text('eve'))
    const entry = { url: guarded.url, headers: { authorization: 'Bearer bob' } }
    expect(await using(entry, { headers: { Authorization: 'Bearer ann' } }, who)).toMatchObject(text('ann'))
    await expect(connect(guarded.url)).rejects.toMatchObject({ code: 'AUTHORIZATION_FAILED' })
    guarded.close()
  })

  test('where nothing listens, connecting fails and says so; so it does when it is cancelled', async () => {
    const gone = await startServer('pannierServer')
    gone.close()
    await expect.poll(() => connect(gone.url).catch(String)).toMatch('nothing listens there')
    await expect(connect(gone.url, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    const abort = new AbortController()
    const connecting = connect(commandOf('oddServer', 'deaf'), { signal: abort.signal })
    abort.abort(new Error('too late'))
    const began = performance.now()
    await expect(connecting).rejects.toThrow('too late')
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  test('an entry of a file is a target', async () => {
    const file = join(folder, 'mcp.json')
    const kitchen = { command: process.execPath, args: commandOf('pannierServer', 'stdio').slice(1) }
    writeFileSync(file, JSON.stringify({ servers: { web: { url: kitchens.get('pannierServer')?.url }, kitchen } }))
    const add = (client: Client) => client.callTool({ name: 'add', arguments: { a: 2, b: 2 } })
    expect(await using(`${file}#web`, {}, add)).toMatchObject(text('4'))
    expect(await using(`${file}#kitchen`, {}, add)).toMatchObject(text('4'))
  })
})

describe('state that the server asks to keep', () => {
  const visit = (client: Client) => client.callTool({ name: 'visits' })

  proves('CS-18', "a process's state is kept by its file, for each principal, in the store that is given", async () => {
    const jar = memoryJar()
    const visits = (options: ConnectOptions) => using(commandOf('pannierServer', 'stdio'), options, visit)
    expect(await visits({ jar })).toMatchObject(text('visit 1'))
    expect(await visits({ jar })).toMatchObject(text('visit 2'))
    expect(await visits({ jar, principal: 'bob' })).toMatchObject(text('visit 1'))
    expect(await visits({ jar: false })).toMatchObject(text('visit 1'))
    expect(await visits({ jar: join(folder, 'jar.db') })).toMatchObject(text('visit 1'))
    expect(await visits({ jar: join(folder, 'jar.db') })).toMatchObject(text('visit 2'))
  })

  proves(
    ['CS-15', 'CS-16'],
    'for a local address nothing is kept unless that is allowed, and the host is told',
    async () => {
      const jar = memoryJar()
      const notices: Notice[] = []
      const url = kitchens.get('pannierServer')?.url ?? ''
      const twice = async (client: Client) => [await visit(client), await visit(client)]
      const kept = await using(url, { jar, onNotice: (notice) => notices.push(notice) }, twice)
      expect(kept).toMatchObject([text('visit 1'), text('visit 1')])
      expect(notices).toMatchObject([{ kind: 'unkept' }])
      expect(await using(url, { jar, allowLocal: true }, twice)).toMatchObject([text('visit 1'), text('visit 2')])
    },
  )
})

test('a jar that cannot be opened is named', async () => {
  const jar = join(folder, 'no-jar.db')
  writeFileSync(jar, 'This is a text, and longer than the header of a database: '.repeat(10))
  await expect(connect(commandOf('pannierServer', 'stdio'), { jar })).rejects.toMatchObject({
    code: 'JAR_UNAVAILABLE',
    message: expect.stringMatching(/^The jar \S+no-jar\.db cannot be used\. The file was not made by Pannier/),
  })
})

test('a store that throws where it should give a promise does not keep a connection open', async () => {
  const jar = {
    ...memoryJar(),
    endContext: () => {
      throw new Error('broken')
    },
  }
  const client = await connect(commandOf('pannierServer', 'stdio'), { jar })
  await client.close()
  expect(client.transport).toBeUndefined()
})

test.each(['timeoutMs', 'connectTimeoutMs'])('%s is a time', async (name) => {
  await expect(connect(['node'], { [name]: Number.NaN })).rejects.toThrow(`"${name}" must be a number of milliseconds`)
})

test('fixed answers and a missing one', async () => {
  const url = kitchens.get('pannierServer')?.url ?? ''
  const cook = (client: Client) => client.callTool({ name: 'cook' })
  expect(await using(url, { answerers: { form: fixed({ dish: { dish: 'pie' } }) } }, cook)).toMatchObject(
    text('Here is your pie.'),
  )
  await expect(using(url, { answerers: { form: fixed({}) } }, cook)).rejects.toMatchObject({
    data: { code: 'QUESTION_UNANSWERED' },
  })
})
