/** The way from a session store to none (SEP-1685, "Migration Path"), with two instances and one SQLite file. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type CarryMode, createServer, type Difference, type Server } from 'pannier/server'
import { type CarryStore, newKey, sqliteCarryStore } from 'pannier/state'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AnswerMessage, headersOf, type RequestMessage, withEnvelope } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { useInstances } from './fixtures/instances.ts'

const { folder } = useInstances()

const keys = newKey()
const SECRET = 'the-answer-nobody-may-see'
let path: string
let files = 0
let logged: string[]
let differences: Difference[]

beforeEach(() => {
  path = join(folder, `carry-${++files}.db`)
  logged = []
  differences = []
})

interface Setup {
  readonly carry?: CarryMode
  readonly store?: CarryStore
  readonly maxStateBytes?: number
}

/** An instance whose tool asks two things and gives both back. Who calls is said in a header. */
function instance({ carry, store = sqliteCarryStore({ path }), ...more }: Setup): Server {
  const log = (level: string) => (details: object, message: string) =>
    void logged.push(`${level} ${message} ${JSON.stringify(details)}`)
  const server = createServer({
    name: 'carry',
    version: '1.0.0',
    keys,
    store,
    ...(carry && { carry }),
    ...more,
    principal: ({ header }) => ({ id: header('x-user') ?? 'ann' }),
    onDifference: (difference) => void differences.push(difference),
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
  })
  return register(server)
}

function register(server: Server): Server {
  const schema = z.object({ word: z.string() })
  server.tool('spell', { description: 'Asks for two words.' }, async (_, ctx) => {
    const { word: first } = await ctx.ask('first', { message: 'First word?', schema })
    const { word: second } = await ctx.ask('second', { message: 'Second word?', schema })
    return `${first} ${second}`
  })
  server.tool('hello', { description: 'Asks nothing.' }, () => 'Hello.')
  return server
}

interface Round {
  readonly answers?: Readonly<Record<string, string>>
  readonly requestState?: string | undefined
  readonly user?: string
  readonly tool?: string
}

async function call(server: Server, { answers, requestState, user = 'ann', tool = 'spell' }: Round = {}) {
  const accepted = Object.entries(answers ?? {}).map(([key, word]) => [key, { action: 'accept', content: { word } }])
  const params = {
    name: tool,
    arguments: {},
    ...(answers && { inputResponses: Object.fromEntries(accepted) as unknown }),
    ...(requestState !== undefined && { requestState }),
  }
  const message: RequestMessage = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const response = await server.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: { ...headersOf(message), 'x-user': user },
      body: JSON.stringify(withEnvelope(message)),
    }),
  )
  return (await response.json()) as AnswerMessage
}

/** Plays the first two rounds and gives the state that the second question came with. */
async function toSecondQuestion(first: Server, second = first): Promise<string> {
  const { result } = await call(first)
  const asked = await call(second, { answers: { first: SECRET }, requestState: result?.requestState })
  expect(Object.keys(asked.result?.inputRequests ?? {})).toEqual(['second'])
  return asked.result!.requestState!
}

function textOf({ result, error }: AnswerMessage): string {
  return error === undefined ? result!.content![0]!.text : `error ${error.code}`
}

const ending = { answers: { second: 'word' } }
const ENDED = `${SECRET} word`

function rows(): { id: string; token: string }[] {
  const database = new DatabaseSync(path)
  const found = database.prepare('SELECT id, token FROM tokens ORDER BY rowid').all()
  database.close()
  return found.map(({ id, token }) => ({ id: String(id), token: String(token) }))
}

function sql(text: string): void {
  const database = new DatabaseSync(path)
  database.exec(text)
  database.close()
}

/** The state with one character in the middle of its seal changed. */
function damaged(state: string): string {
  const at = state.length - 20
  return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1)
}

describe("carry: 'store'", () => {
  test('the client carries only a ticket, which is as long for much as for little', async () => {
    const [a, b] = [instance({ carry: 'store' }), instance({ carry: 'store' })]
    const first = (await call(a)).result!.requestState!
    const second = await toSecondQuestion(a, b)
    expect(Math.abs(second.length - first.length)).toBeLessThan(8)
    expect(rows().length).toBeGreaterThan(0)
    expect(textOf(await call(a, { ...ending, requestState: second }))).toBe(ENDED)
  })

  test('what is not in the store any more is an error and no fresh start', async () => {
    const a = instance({ carry: 'store' })
    const requestState = await toSecondQuestion(a)
    sql('DELETE FROM tokens')
    expect(textOf(await call(a, { ...ending, requestState }))).toBe('error -32602')
  })

  proves('ST-26', 'what lies in the store is sealed like what travels', async () => {
    await toSecondQuestion(instance({ carry: 'store' }))
    expect(rows().length).toBeGreaterThan(1)
    expect(JSON.stringify(rows())).not.toContain(SECRET)
  })
})

describe("carry: 'both'", () => {
  proves('ST-22', 'in phase 1 client and store both have the state, they agree, and nothing is reported', async () => {
    const [a, b] = [instance({ carry: 'both' }), instance({ carry: 'both' })]
    const requestState = await toSecondQuestion(a, b)
    expect(rows()).toHaveLength(2)
    expect(textOf(await call(a, { ...ending, requestState }))).toBe(ENDED)
    expect(differences).toEqual([])
    expect(logged.filter((line) => /^(warn|error)/.test(line))).toEqual([])
  })

  for (const [what, change, reason] of [
    ['lacks', 'DELETE FROM tokens', 'missing-in-store'],
    ['cannot read', "UPDATE tokens SET token = 'AQ' || substr(token, 3, 60)", 'unreadable-in-store'],
    [
      'has another state than',
      'UPDATE tokens SET token = (SELECT token FROM tokens ORDER BY rowid LIMIT 1)',
      'different',
    ],
  ] as const) {
    proves(
      'ST-22',
      `in phase 1 a store that ${what} what the client brings is reported, and the call goes on`,
      async () => {
        const a = instance({ carry: 'both' })
        const requestState = await toSecondQuestion(a)
        sql(change)
        expect(textOf(await call(a, { ...ending, requestState }))).toBe(ENDED)
        expect(differences).toEqual([{ method: 'tools/call', name: 'spell', reason }])
        const warnings = logged.filter((line) => line.startsWith('warn'))
        expect(warnings).toEqual([expect.stringContaining(`"reason":"${reason}"`)])
        expect(warnings.join()).not.toContain(SECRET)
      },
    )
  }

  test('a damaged state is refused, whatever the store has', async () => {
    const a = instance({ carry: 'both' })
    const requestState = damaged(await toSecondQuestion(a))
    expect(textOf(await call(a, { ...ending, requestState }))).toBe('error -32602')
  })
})

describe("carry: 'client-first'", () => {
  proves('ST-23', 'in phase 2 the state alone is enough', async () => {
    const [a, b] = [instance({ carry: 'client-first' }), instance({ carry: 'client-first' })]
    const requestState = await toSecondQuestion(a)
    sql('DELETE FROM tokens')
    expect(textOf(await call(b, { ...ending, requestState }))).toBe(ENDED)
  })

  for (const [what, spoil] of [
    ['damaged', damaged],
    ['cut off after its name', (state: string) => state.slice(0, state.indexOf('~') + 1)],
  ] as const) {
    proves('ST-23', `in phase 2 the store serves when the state is ${what}, and the log says so`, async () => {
      const [a, b] = [instance({ carry: 'client-first' }), instance({ carry: 'client-first' })]
      const requestState = spoil(await toSecondQuestion(a))
      expect(textOf(await call(b, { ...ending, requestState }))).toBe(ENDED)
      expect(logged.filter((line) => line.startsWith('warn'))).toEqual([
        expect.stringContaining('the one in the store was used'),
      ])
    })
  }

  test('what the store has under a name is for its user alone', async () => {
    const a = instance({ carry: 'client-first' })
    const requestState = damaged(await toSecondQuestion(a))
    expect(textOf(await call(a, { ...ending, requestState, user: 'bob' }))).toBe('error -32602')
  })

  test.each([
    ['another call', (_: string, other: string) => other],
    ['another round', (own: string) => own.replace(/\d+$/, (round) => String(Number(round) - 1))],
    ['no call', () => ''],
  ])('a good state under the row name of %s is refused', async (_, rowOf) => {
    const a = instance({ carry: 'client-first' })
    const [[own = '', token], [other = '']] = [await toSecondQuestion(a), await toSecondQuestion(a)].map((state) =>
      state.split('~'),
    ) as [string[], string[]]
    const requestState = `${rowOf(own, other)}~${token}`
    expect(textOf(await call(a, { ...ending, requestState }))).toBe('error -32602')
    expect(textOf(await call(a, { ...ending, requestState: `${own}~${token}` }))).toBe(ENDED)
  })

  test('a damaged state that the store does not have either is refused', async () => {
    const a = instance({ carry: 'client-first' })
    const requestState = damaged(await toSecondQuestion(a))
    sql('DELETE FROM tokens')
    expect(textOf(await call(a, { ...ending, requestState }))).toBe('error -32602')
  })
})

describe("carry: 'client'", () => {
  proves('ST-24', 'in phase 3 nothing is written to the store and nothing read from it', async () => {
    const store: CarryStore = {
      put: () => Promise.reject(new Error('put')),
      get: () => Promise.reject(new Error('get')),
      delete: () => Promise.reject(new Error('delete')),
    }
    const [a, b] = [instance({ carry: 'client', store }), instance({ carry: 'client', store })]
    const requestState = await toSecondQuestion(a, b)
    expect(textOf(await call(a, { ...ending, requestState }))).toBe(ENDED)
  })

  proves('ST-25 ST-3', 'in phase 4 there is no store, and the state holds all that the answer needs', async () => {
    const bare = () => register(createServer({ name: 'carry', version: '1.0.0', keys }))
    const requestState = await toSecondQuestion(bare(), bare())
    expect(textOf(await call(bare(), { ...ending, requestState }))).toBe(ENDED)
  })

  test.each(['store', 'both', 'client-first'] as const)('carry: %j without a store is refused at once', (carry) => {
    expect(() => createServer({ name: 'carry', version: '1.0.0', keys, carry })).toThrow(
      `carry: '${carry}' needs a store`,
    )
  })
})

describe('from one phase to the next', () => {
  const phases = ['store', 'both', 'client-first', 'client'] as const
  for (const from of phases) {
    for (const to of phases.filter((phase) => phase !== from)) {
      proves(
        'ST-22 ST-23 ST-24',
        `a call begun by an instance that carries by '${from}' is ended by one that carries by '${to}'`,
        async () => {
          const [before, after] = [instance({ carry: from }), instance({ carry: to })]
          const requestState = await toSecondQuestion(before)
          expect(textOf(await call(after, { ...ending, requestState }))).toBe(ENDED)
        },
      )
    }
  }
})

describe('a store that is down', () => {
  const down: CarryStore = {
    put: () => Promise.reject(new Error('no connection to 10.0.0.1')),
    get: () => Promise.reject(new Error('no connection to 10.0.0.1')),
    delete: () => Promise.reject(new Error('no connection to 10.0.0.1')),
  }

  test.each(['both', 'client-first'] as const)(
    'does not stop a call that the client carries too (%j)',
    async (carry) => {
      const a = instance({ carry, store: down })
      const requestState = await toSecondQuestion(a)
      expect(textOf(await call(a, { ...ending, requestState }))).toBe(ENDED)
      expect(logged.some((line) => line.startsWith('warn'))).toBe(true)
    },
  )

  test('is an error of the server and not of the state', async () => {
    const a = instance({ carry: 'store' })
    const requestState = await toSecondQuestion(a)
    const b = instance({ carry: 'store' })
    sql('DROP TABLE tokens')
    const answer = await call(b, { ...ending, requestState })
    expect(answer.error?.code).toBe(-32603)
    expect(logged.some((line) => line.startsWith('error'))).toBe(true)
  })
})

proves('ST-17', 'a state starts with the server alone: one that a client makes up is refused', async () => {
  const a = instance({ carry: 'client' })
  for (const requestState of ['', 'foo', '{"first":"x"}', 'eyJmaXJzdCI6IngifQ', 'a.1~foo', '~']) {
    expect(textOf(await call(a, { ...ending, requestState }))).toBe('error -32602')
  }
})

proves('ST-17 ST-26', 'a tool that has nothing to remember sends no state, and is called as ever', async () => {
  for (const carry of ['store', 'both', 'client-first', 'client'] as const) {
    const { result } = await call(instance({ carry }), { tool: 'hello' })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello.' }] })
    expect(result).not.toHaveProperty('requestState')
    expect(rows()).toEqual([])
  }
})

test('a state too large to travel goes to the store, and any instance finds it there', async () => {
  const [a, b] = [instance({ carry: 'client', maxStateBytes: 400 }), instance({ carry: 'client', maxStateBytes: 400 })]
  const words = Array.from({ length: 300 }, (_, index) => index * 7919).join(' ')
  const { result } = await call(a)
  const asked = await call(a, { answers: { first: words }, requestState: result!.requestState })
  expect(asked.result!.requestState!.length).toBeLessThan(400)
  expect(rows()).toHaveLength(1)
  expect(textOf(await call(b, { ...ending, requestState: asked.result!.requestState }))).toBe(`${words} word`)
})
