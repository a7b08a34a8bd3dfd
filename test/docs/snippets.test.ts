import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { postgres, postgresBus } from 'pannier/postgres'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { createServer, type Difference } from 'pannier/server'
import { memoryCarryStore, memoryLedger, newKey } from 'pannier/state'
import { exercise, type MakeServer } from 'pannier/testing'
import { readText, root } from '../../scripts/repository.ts'
import { locks, payments, server as asking } from '../../docs/snippets/asking.ts'
import { guarded, protectedServer, server as accounts } from '../../docs/snippets/authentication.ts'
import { server as notes } from '../../docs/snippets/client-state.ts'
import {
  broadcastBus,
  clusterInstance,
  instance,
  migrating,
  selective,
  offerIndexing,
  offerWorkItem,
  stop,
} from '../../docs/snippets/many-instances.ts'
import { auditLog, limited, oneOfMany, server as shop } from '../../docs/snippets/middleware.ts'
import { machineLedger, type Shop, shopServer } from '../../docs/snippets/steps.ts'
import { refundServer } from '../../examples/testing/refund.ts'
import { newDatabase } from '../postgres/database.ts'
import { accept, Caller, type Door, decline, textOf } from './fixtures/caller.ts'

const yes = accept({ agree: true })

describe('examples/first-tool', () => {
  test('examples/first-tool/server.ts starts, and examples/first-tool/call.ts gets its answer in two rounds', async () => {
    const server = start(['examples/first-tool/server.ts'], { PORT: '0' })
    const url = /http:\S+/.exec(await firstLine(server))?.[0] ?? ''
    const call = start(['examples/first-tool/call.ts', url])
    const [output] = await Promise.all([allOf(call), once(call, 'exit')])
    expect(output).toMatch(/^asked: +Delete the branch old-idea\?$/m)
    expect(output).toMatch(/^state: +\d+ characters that only the server can read$/m)
    expect(output).toMatch(/^result: The branch old-idea was deleted at \S+Z\.$/m)
  })

  test('the tool in the README has at most twenty lines', () => {
    const [, region = ''] = readText('examples/first-tool/server.ts').split(/\/\/ #(?:end)?region server\n/)
    expect(region.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
  })
})

describe('docs/snippets/asking.ts', () => {
  const caller = new Caller(asking.fetch)

  test('a form gives typed content', async () => {
    const { text, asked } = await caller.call(
      'book_table',
      { restaurant: 'Garden' },
      { party: accept({ guests: 4, outside: true }) },
    )
    expect(asked).toEqual([['party']])
    expect(text).toBe('A table for 4, outside, at Garden.')
  })

  test('an answer that does not fit is asked for again', async () => {
    const first = await caller.round('book_table', { restaurant: 'Garden' })
    const again = await caller.round(
      'book_table',
      { restaurant: 'Garden' },
      { inputResponses: { party: accept({ guests: 40, outside: true }) }, requestState: first.result.requestState },
    )
    expect(again.result.resultType).toBe('input_required')
    expect(Object.keys(again.result.inputRequests ?? {})).toEqual(['party'])
  })

  test('a question that never gets a usable answer ends the call after five times', async () => {
    const { asked, result, text } = await caller.call('book_table', { restaurant: 'Garden' }, { party: accept() })
    expect(asked).toHaveLength(5)
    expect(result.isError).toBe(true)
    expect(text).toBe('No usable answer to "party" came after it was asked 5 times.')
  })

  test.each([
    ['order_shirt', { size: accept({ size: 'M' }), colour: accept({ colour: 'red' }) }, 'A shirt in M, red.'],
    ['order_shirts', { first: accept({ size: 'M' }), second: accept({ size: 'L' }) }, 'Two shirts, M and L.'],
  ])('%s asks both questions in one round', async (tool, answers, expected) => {
    const { asked, text } = await caller.call(tool, {}, answers)
    expect(asked).toEqual([Object.keys(answers)])
    expect(text).toBe(expected)
  })

  test.each([
    ['clean_up', yes, 'The drafts are gone.', undefined],
    ['clean_up', decline, 'Nothing was removed: the question was answered with decline.', true],
    ['clean_up_or_not', decline, 'The drafts stay, and we do not ask again.', undefined],
    ['clean_up_or_not', { action: 'cancel' }, 'The drafts stay for now.', undefined],
    ['with_lock', decline, 'The question "agree" was declined.', true],
  ])('%s, answered with %j, says: %s', async (tool, agree, expected, isError) => {
    const { text, result } = await caller.call(tool, {}, { agree })
    expect(text).toBe(expected)
    expect(result.isError).toBe(isError)
  })

  test('a page is visited, and the page knows what came of it', async () => {
    const visitor = new Caller(asking.fetch, { capabilities: { elicitation: { url: {} } } })
    const first = await visitor.round('pay', { order: 'a1' })
    expect(first.result.inputRequests?.['payment']?.params).toMatchObject({
      mode: 'url',
      url: 'https://pay.example.com/a1',
    })
    const answers = { payment: { action: 'accept' } }
    expect((await visitor.call('pay', { order: 'a1' }, answers)).text).toBe('The order a1 is not paid yet.')
    payments.paid.add('a1')
    expect((await visitor.call('pay', { order: 'a1' }, answers)).text).toBe('The order a1 is paid.')
  })

  test('a client that cannot be asked is told what is missing', async () => {
    const { error, status } = await caller.round('pay', { order: 'a1' })
    expect(status).toBe(400)
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } })
  })

  test('the model is asked where there is one, and done without where there is none', async () => {
    const article = 'A long article about a small thing that nobody had noticed before.'
    const headline = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Small thing noticed' } }
    const withModel = new Caller(asking.fetch, { capabilities: { sampling: {} } })
    expect((await withModel.call('headline', { article }, { headline })).text).toBe('Small thing noticed')
    expect((await caller.call('headline', { article }, {})).text).toBe(article.slice(0, 40))
  })

  test('the client tells its roots', async () => {
    const client = new Caller(asking.fetch, { capabilities: { roots: {} } })
    const folders = { roots: [{ uri: 'file:///project' }] }
    expect((await client.call('folders', {}, { folders })).text).toBe('file:///project')
  })

  test('a question that is not pinned needs no state in its round', async () => {
    const first = await caller.round('greet')
    expect(first.result.inputRequests).toHaveProperty('name')
    expect(first.result.requestState).toBeUndefined()
    expect((await caller.call('greet', {}, { name: accept({ name: 'reader' }) })).text).toBe('Hello, reader!')
  })

  test('a pinned question takes no answer that comes without its state', async () => {
    const retry = { inputResponses: { party: accept({ guests: 4, outside: true }) } }
    const { result } = await caller.round('book_table', { restaurant: 'Garden' }, retry)
    expect(result.resultType).toBe('input_required')
  })

  test('a question in a loop has a key for each turn', async () => {
    const { asked, text } = await caller.call(
      'remove_files',
      { files: ['a', 'b'] },
      { 'remove a': yes, 'remove b': accept({ agree: false }) },
    )
    expect(asked).toEqual([['remove a'], ['remove b']])
    expect(text).toBe('Removed: a.')
  })

  test('a handler in explicit style asks by what it returns', async () => {
    const { asked, text } = await caller.call(
      'weather',
      {},
      { city: accept({ city: 'Oslo' }), day: accept({ day: 'Monday' }) },
    )
    expect(asked).toEqual([['city'], ['day']])
    expect(text).toBe('The weather in Oslo on Monday: fine.')
  })

  test('finally blocks have run when the question goes out', async () => {
    await caller.round('with_lock')
    expect(locks.held).toBe(0)
  })

  test('prompts and resources ask, too', async () => {
    const prompt = await caller.send('prompts/get', { name: 'letter' })
    expect(prompt.result.inputRequests).toHaveProperty('name')
    const resource = await caller.send('resources/read', { uri: 'diary://today' })
    const { result } = await caller.send('resources/read', {
      uri: 'diary://today',
      inputResponses: { part: accept({ part: 'pm' }) },
      requestState: resource.result.requestState,
    })
    expect(result['contents']).toEqual([{ uri: 'diary://today', text: 'Sun.' }])
  })
})

describe('docs/snippets/steps.ts', () => {
  class CountingShop implements Shop {
    reserved: string[] = []
    charged: string[] = []
    breaksAfterCharge = false

    async reserve(item: string) {
      this.reserved.push(item)
      return { reservation: `r${this.reserved.length}` }
    }

    async charge(_: number, idempotencyKey: string) {
      this.charged.push(idempotencyKey)
      return { receipt: `c${this.charged.length}` }
    }
  }

  const address = accept({ street: 'Main Street 1', city: 'Oslo' })
  const item = { item: 'cup' }

  /** Two instances on one key ring, with one ledger. */
  function instances(shop: Shop, ledger = memoryLedger()): Door[] {
    const keys = newKey()
    return [shopServer(shop, keys, ledger).fetch, shopServer(shop, keys, ledger).fetch]
  }

  test('a step runs in one round and is replayed in the next, on another instance', async () => {
    const shop = new CountingShop()
    const { text } = await new Caller(instances(shop)).call('reserve', item, { address })
    expect(text).toBe('Reserved as r1, to be sent to Oslo.')
    expect(shop.reserved).toEqual(['cup'])
  })

  test('a round that is sent twice runs its steps twice, and what is under once only once', async () => {
    const shop = new CountingShop()
    const caller = new Caller(instances(shop))
    const first = await caller.round('buy', item)
    const retry = { inputResponses: { agree: yes }, requestState: first.result.requestState }
    const texts = [textOf(await caller.round('buy', item, retry)), textOf(await caller.round('buy', item, retry))]
    expect(texts).toEqual(Array.from({ length: 2 }, () => 'You have bought cup. The receipt is c1.'))
    expect(shop.charged).toHaveLength(1)

    await caller.round('reserve', item)
    await caller.round('reserve', item)
    expect(shop.reserved).toEqual(['cup', 'cup'])
  })

  test('a first request that is sent again runs once where it names what it is about', async () => {
    const shop = new CountingShop()
    const caller = new Caller(instances(shop))
    const pay = async (orderId: string) => textOf(await caller.round('pay', { orderId, amount: 20 }))
    expect([await pay('o7'), await pay('o7'), await pay('o8')]).toEqual([
      'The order o7 is paid. The receipt is c1.',
      'The order o7 is paid. The receipt is c1.',
      'The order o8 is paid. The receipt is c2.',
    ])
    expect(new Set(shop.charged).size).toBe(2)
  })

  test('work that began and never reported its end is not repeated, unless asked for', async () => {
    const shop = new CountingShop()
    const ledger = memoryLedger()
    const lost = { ...ledger, settle: () => Promise.reject(new Error('The process ended here.')) }
    const keys = newKey()
    const dying = new Caller(shopServer(shop, keys, lost).fetch)
    const next = new Caller(shopServer(shop, keys, ledger).fetch)
    for (const [tool, expected] of [
      ['buy', /^An earlier attempt began "charge" and did not report its end/],
      ['buy_again', /^You have bought cup\. The receipt is c3\.$/],
    ] as const) {
      const first = await dying.round(tool, item)
      const retry = { inputResponses: { agree: yes }, requestState: first.result.requestState }
      await dying.round(tool, item, retry)
      expect(textOf(await next.round(tool, item, retry))).toMatch(expected)
    }
    expect(new Set(shop.charged).size).toBe(2)
    expect(shop.charged[1]).toBe(shop.charged[2])
  })

  test('steps started together run together', async () => {
    const shop = new CountingShop()
    const { text } = await new Caller(instances(shop)).call('reserve_both', {}, { address })
    expect(text).toBe('Reserved as r1 and r2 for Oslo.')
  })

  test('a step gives the same text in every round', async () => {
    const { text } = await new Caller(instances(new CountingShop())).call('when', {}, { agree: yes })
    expect(text).toMatch(/^First called at \d{4}-\d\d-\d\dT\S+Z\.$/)
  })

  test('a ledger in a file serves all processes of a machine', async () => {
    const path = join(temporaryFolder(), 'ledger.sqlite')
    const shop = new CountingShop()
    const keys = newKey()
    const doors = [machineLedger(path), machineLedger(path)].map((ledger) => shopServer(shop, keys, ledger).fetch)
    const caller = new Caller(doors)
    const first = await caller.round('buy', item)
    const retry = { inputResponses: { agree: yes }, requestState: first.result.requestState }
    await caller.round('buy', item, retry)
    await caller.round('buy', item, retry)
    expect(shop.charged).toHaveLength(1)
  })
})

describe('docs/snippets/many-instances.ts', () => {
  test('a drained instance hands a call over at its next checkpoint, and no page is indexed twice', async () => {
    const folder = temporaryFolder()
    process.env['PANNIER_KEYS'] = newKey()
    onTestFinished(() => {
      delete process.env['PANNIER_KEYS']
    })
    const indexed: string[] = []
    const first = offerIndexing(instance(join(folder, 'ledger.sqlite')), async (page) => {
      indexed.push(`first ${page}`)
      if (page === 2) void stop(first)
      return 10
    })
    const second = offerIndexing(instance(join(folder, 'ledger.sqlite')), async (page) => {
      indexed.push(`second ${page}`)
      return 10
    })
    const { text, asked } = await new Caller([first.fetch, second.fetch]).call('index', { pages: 4 }, {})
    expect(text).toBe('Indexed 40 words.')
    expect(asked).toEqual([[]])
    expect(indexed).toEqual(['first 1', 'first 2', 'second 3', 'second 4'])
  })

  const answers = { resolution: accept({ resolution: 'Fixed' }), agree: yes }

  test.each(['store', 'both', 'client-first', 'client'] as const)('carry: %s serves a call', async (mode) => {
    const server = offerWorkItem(migrating(mode, memoryCarryStore(), () => {}))
    expect((await new Caller(server.fetch).call('resolve', {}, answers)).text).toBe('Resolved as Fixed.')
  })

  test('a call goes on while its server is moved from a store to none', async () => {
    process.env['PANNIER_KEYS'] = newKey()
    onTestFinished(() => {
      delete process.env['PANNIER_KEYS']
    })
    const store = memoryCarryStore()
    const steps = (['store', 'both', 'client-first', 'client'] as const).map(
      (mode) => offerWorkItem(migrating(mode, store, () => {})).fetch,
    )
    for (const before of steps) {
      for (const after of steps) {
        const { text } = await new Caller([before, after]).call('resolve', {}, answers)
        expect(text).toBe('Resolved as Fixed.')
      }
    }
  })

  test('carry: both reports that the store has lost what the client still has', async () => {
    const store = memoryCarryStore()
    const found: Difference[] = []
    const server = offerWorkItem(
      migrating('both', { ...store, get: async () => undefined }, (difference) => found.push(difference)),
    )
    expect((await new Caller(server.fetch).call('resolve', {}, answers)).text).toBe('Resolved as Fixed.')
    expect(found[0]).toEqual({ method: 'tools/call', name: 'resolve', reason: 'missing-in-store' })
  })

  test('carry: client-first finds in the store what the client has damaged', async () => {
    const caller = new Caller(offerWorkItem(migrating('client-first', memoryCarryStore(), () => {})).fetch)
    const { result } = await caller.round('resolve')
    const requestState = `${result.requestState?.slice(0, -1)}~`
    const next = await caller.round('resolve', {}, { inputResponses: { resolution: answers.resolution }, requestState })
    expect(Object.keys(next.result.inputRequests ?? {})).toEqual(['agree'])
  })

  test('the journal of a tool with carry: store is in the store', async () => {
    const store = memoryCarryStore()
    const put = vi.fn(store.put)
    const caller = new Caller(selective({ ...store, put }).fetch)
    const { text } = await caller.call('transfer', {}, { account: accept({ account: '12' }) })
    expect(text).toBe('Transferred to 12.')
    expect(put).toHaveBeenCalledTimes(1)
  })

  test('a bus tells every instance of a change', async () => {
    const buses = [broadcastBus('docs-bus'), broadcastBus('docs-bus')] as const
    onTestFinished(() => buses.forEach((bus) => bus.close()))
    const heard = buses.map((bus) => new Promise((resolve) => bus.subscribe(resolve)))
    const server = createServer({ name: 'news', version: '1.0.0', bus: buses[0] })
    server.fetchHandler() // reachable from here on
    server.tool('hello', { description: 'Says hello.' }, () => 'Hello.')
    expect(await Promise.all(heard)).toEqual([
      { kind: 'changed', list: 'tools' },
      { kind: 'changed', list: 'tools' },
    ])
  })

  test('instances with one PostgreSQL database claim once, and publish their events to each other', async () => {
    vi.stubEnv('PANNIER_KEYS', newKey())
    onTestFinished(() => void vi.unstubAllEnvs())
    const url = await newDatabase()
    const instances = [clusterInstance(url), clusterInstance(url)]
    const database = postgres({ url })
    onTestFinished(async () => void (await Promise.all([...instances, database].map((each) => each.close()))))
    let payments = 0
    for (const { server } of instances) {
      server.tool('pay', { description: 'Pays.' }, async (_, ctx) => {
        await ctx.ask('agree', { message: 'Sure?', schema: z.object({ agree: z.boolean() }) })
        return ctx.once('pay', () => `Payment ${++payments}.`)
      })
    }
    const caller = new Caller(instances.map(({ server }) => server.fetch))
    const { result } = await caller.round('pay')
    const retry = { inputResponses: { agree: yes }, requestState: result.requestState }
    for (let time = 0; time < 3; time++) expect(textOf(await caller.round('pay', {}, retry))).toBe('Payment 1.')

    const published = new Promise((resolve) => postgresBus(database).subscribe(resolve))
    instances[0]?.server.updated('index://pages')
    expect(await published).toEqual({ kind: 'updated', uri: 'index://pages' })
  })
})

describe('docs/snippets/client-state.ts', () => {
  const KEY = 'modelcontextprotocol.io/state/server'
  const keeping = (state: Record<string, unknown>, scope: 'server' | 'session' = 'server') =>
    new Caller(notes.fetch, {
      capabilities: { state: {}, elicitation: {} },
      meta: { [`modelcontextprotocol.io/state/${scope}`]: state },
    })

  test('what is set goes out with the result, and what comes back is read', async () => {
    const { result } = await keeping({}).round('set_theme', { theme: 'dark' })
    expect(result._meta[KEY]).toEqual({ theme: 'dark' })
    expect(textOf(await keeping({ theme: 'dark' }).round('show_theme'))).toBe('The theme is dark.')
    expect(textOf(await keeping({ theme: 'pink' }).round('show_theme'))).toBe('The theme is light.')
    expect((await keeping({ theme: 'dark' }).round('reset_theme')).result._meta[KEY]).toEqual({ theme: null })
  })

  test('a client that keeps no state is told nothing to keep', async () => {
    const reply = await new Caller(notes.fetch).round('set_theme', { theme: 'dark' })
    expect(textOf(reply)).toBe('Your client keeps no state, so the theme stays light.')
    expect(reply.result._meta).not.toHaveProperty(KEY)
  })

  test('lists and completions read and set it, too', async () => {
    const { result } = await keeping({ seen: 2 }).send('tools/list')
    expect(result._meta[KEY]).toEqual({ seen: 3 })
    const ask = { ref: { type: 'ref/prompt', name: 'note' }, argument: { name: 'tag', value: 'w' } }
    const completed = async (state: Record<string, unknown>) =>
      (await keeping(state).send('completion/complete', ask)).result['completion']
    expect(await completed({ tags: ['wine', 'tea'] })).toMatchObject({ values: ['wine'] })
    expect(await completed({ tags: 'odd' })).toMatchObject({ values: ['work'] })
    const prompt = await keeping({}).send('prompts/get', { name: 'note', arguments: { tag: 'work' } })
    expect(JSON.stringify(prompt.result['messages'])).toContain('Write a note about work.')
  })

  test('what is counted after the last question is counted once', async () => {
    const { text, result } = await keeping({ count: 2 }, 'session').call('count', {}, { agree: yes })
    expect(text).toBe('Counted 3.')
    expect(result._meta['modelcontextprotocol.io/state/session']).toEqual({ count: 3 })
  })

  test('what is sealed cannot be made up or changed by the client', async () => {
    const { result } = await keeping({}).round('redeem', { code: 'GOLD-2026' })
    const { tier } = result._meta[KEY] as { tier: string }
    const priceWith = async (state: Record<string, unknown>) => textOf(await keeping(state).round('price'))
    expect(await priceWith({ tier })).toBe('The price is 8.')
    expect(await priceWith({ tier: `${tier.slice(0, 40)}AAAA${tier.slice(44)}` })).toBe('The price is 10.')
    expect(await priceWith({ tier: 'gold' })).toBe('The price is 10.')
    expect(textOf(await keeping({}).round('redeem', { code: 'x' }))).toBe('That code is not known.')
  })
})

test('docs/snippets/middleware.ts writes each call down and refuses the rest', async () => {
  const caller = new Caller(shop.fetch)
  expect(textOf(await caller.round('buy'))).toBe('Bought.')
  expect(auditLog).toEqual([
    expect.stringMatching(/ somebody calls the tool buy$/),
    expect.stringMatching(/ round 1: done$/),
  ])
  expect((await caller.round('beta_sell')).result).toMatchObject({ isError: true })
  expect(auditLog.at(-1)).toMatch(/ round 1: failed$/)
  for (let calls = 2; calls < 100; calls++) await caller.round('buy')
  const refused = await caller.round('buy')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3600'])
  expect(refused.error.message).toBe('You have made your 100 calls of today.')
  for (const server of [limited, oneOfMany(await newDatabase())]) {
    expect((await new Caller(server.fetch).send('server/discover')).status).toBe(200)
  }
})

describe('docs/snippets/authentication.ts', () => {
  test('the hook turns strangers away and names the others', async () => {
    const stranger = await new Caller(accounts.fetch).round('rename')
    expect(stranger.status).toBe(401)
    expect(stranger.headers.get('www-authenticate')).toBe('ApiKey')
    expect((await new Caller(accounts.fetch, { headers: { 'x-api-key': 'x' } }).round('rename')).status).toBe(401)
    const user = new Caller(accounts.fetch, { headers: { 'x-api-key': 'a-long-random-key' } })
    const { text } = await user.call('rename', {}, { name: accept({ name: 'Home' }) })
    expect(text).toBe('The account of user-1 is now called Home.')
  })

  test('rules hide what a caller may not call', async () => {
    const user = new Caller(accounts.fetch, { headers: { 'x-api-key': 'a-long-random-key' } })
    const { result } = await user.send('tools/list')
    expect(result['tools']).toMatchObject([{ name: 'rename' }, { name: 'close_account' }])
    expect(textOf(await user.round('close_account'))).toBe('Closed.')
    expect((await user.round('all_accounts')).error.code).toBe(-32602)
    expect((await user.send('resources/list')).result['resources']).toEqual([])
  })

  test('bearer tells who calls by a token, and strangers where to get one', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const server = protectedServer({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k1' }] })
    const token = await new SignJWT({ scope: 'mcp' })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .setIssuer('https://login.example.com')
      .setAudience('https://mcp.example.com/mcp')
      .setSubject('user-1')
      .setExpirationTime('5m')
      .sign(privateKey)
    const user = new Caller(server.fetch, { headers: { authorization: `Bearer ${token}` } })
    expect(textOf(await user.round('whoami'))).toBe('user-1')

    const stranger = await new Caller(server.fetch).round('whoami')
    expect(stranger.status).toBe(401)
    const address = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'
    expect(stranger.headers.get('www-authenticate')).toContain(`resource_metadata="${address}"`)
    const document = await server.fetch(new Request(address))
    expect(await document.json()).toMatchObject({ authorization_servers: ['https://login.example.com'] })
  })

  test.each([
    ['http://mcp.example.com/mcp', undefined, 200],
    ['http://mcp.example.com/mcp', 'https://app.example.com', 200],
    ['http://mcp.example.com/mcp', 'https://evil.example', 403],
    ['http://other.example/mcp', undefined, 403],
  ])('a request for %s from a page of %s is answered with %i', async (url, origin, status) => {
    const caller = new Caller(guarded.fetch, { url, ...(origin !== undefined && { headers: { origin } }) })
    expect((await caller.send('server/discover')).status).toBe(status)
  })
})

describe('examples/testing/refund.ts', () => {
  test('the tool refunds what the person said, and its exercise finds it sound', async () => {
    const refund = async (order: string, cents: number) => `R-${order}-${cents}`
    const { text } = await new Caller(refundServer({ refund }).fetch).call(
      'refund',
      { order: 'A' },
      { amount: accept({ cents: 5 }) },
    )
    expect(text).toBe('Refunded 5 cents, receipt R-A-5.')
    const call = { tool: 'refund', arguments: { order: 'A' } }
    const makeServer: MakeServer = (overrides) => refundServer({ refund }, overrides)
    const { ok, result } = await exercise(makeServer, call, { amount: 'decline' }, { expectError: true })
    expect(ok).toBe(true)
    expect(result?.['isError']).toBe(true)
  })
})

function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--conditions=pannier-source', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', PANNIER_LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

type Child = ReturnType<typeof start>

async function firstLine(child: Child): Promise<string> {
  for await (const line of createInterface(child.stdout)) return line
  throw new Error('The program ended and said nothing.')
}

async function allOf(child: Child): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout) text += String(chunk)
  return text
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
