import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { InputRequest } from '@modelcontextprotocol/client'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import type { Json } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { resume, type Sender } from './resume.ts'
import { readSaved, type SavedCall } from './savedCall.ts'
import { savedFile } from './savedFile.ts'
import { type OpenRound, Suspend, suspend, suspendCall, suspendedOf } from './suspend.ts'

const SECRET = 'sealed-state-of-a-server'
const agree = {
  method: 'elicitation/create',
  params: {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  },
} as InputRequest

const round: OpenRound = {
  method: 'tools/call',
  params: {
    name: 'deploy',
    arguments: { service: 'web', note: undefined },
    inputResponses: { before: {} },
    requestState: 'of-the-round-before',
    _meta: {
      progressToken: 7,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'modelcontextprotocol.io/state/session': { a: 1 },
      'com.example/trace': 'kept',
    },
  },
  open: { confirm: { request: agree, later: new Suspend({ target: ['node', 'server.ts'], cwd: '/srv' }) } },
  inputResponses: { where: { roots: [] } },
  requestState: SECRET,
  server: { name: 'shop', target: 'https://shop.example/mcp' },
  place: { target: ['shop', '--key', 'value'], cwd: '/home/shop' },
}

async function savedCall(more: Partial<OpenRound> = {}): Promise<SavedCall> {
  return suspendedOf(await suspendCall({ ...round, ...more }, 0))!.saved
}

describe('suspending', () => {
  test('the saved call is plain JSON with what lasts, and nothing of one connection or one round', async () => {
    expect(await savedCall()).toEqual({
      version: 1,
      savedAt: '1970-01-01T00:00:00.000Z',
      target: ['node', 'server.ts'],
      cwd: '/srv',
      server: 'shop',
      method: 'tools/call',
      params: { name: 'deploy', arguments: { service: 'web' }, _meta: { 'com.example/trace': 'kept' } },
      inputRequests: { confirm: agree },
      inputResponses: { where: { roots: [] } },
      requestState: SECRET,
    })
  })

  test('without a state there is none in it', async () => {
    expect(await savedCall({ requestState: undefined })).not.toHaveProperty('requestState')
  })

  test.each<[string, Suspend, Partial<OpenRound>, object]>([
    ['the answerer says', new Suspend({ target: 'x#y' }), {}, { target: 'x#y' }],
    ['the layer knows', new Suspend(), {}, { target: ['shop', '--key', 'value'], cwd: '/home/shop' }],
    ['the layer knows, in a folder that the answerer says', new Suspend({ cwd: '/' }), {}, { cwd: '/' }],
    ['people know', new Suspend(), { place: undefined }, { target: 'https://shop.example/mcp' }],
  ])('its place is what %s', async (_, suspending, known, place) => {
    const saved = await savedCall({ open: { confirm: { request: agree, later: suspending } }, ...known })
    expect(saved).toMatchObject(place)
    expect('cwd' in saved).toBe('cwd' in place)
  })

  test.each(['tools/call', 'prompts/get', 'resources/read'] as const)(
    'the result of %s is one that clients accept',
    async (method) => {
      const { resultType, _meta, ...result } = await suspendCall({ ...round, method })
      expect(resultType).toBe('complete')
      expect(Object.keys(result)[0]).toMatch(/^(content|description|contents)$/)
    },
  )

  test('the saved call is still found when a client has copied the result', async () => {
    const result = await suspendCall(round)
    expect(suspendedOf(structuredClone(result))?.saved.method).toBe('tools/call')
    expect(suspendedOf(JSON.parse(JSON.stringify(result)))?.saved.requestState).toBe(SECRET)
  })

  test('what a server writes in its place counts for nothing', async () => {
    const real = await suspendCall(round)
    const note = (real['_meta'] as Json)['dev.pannier/suspended'] as Json
    const forged = { ...(note['saved'] as Json), target: 'https://evil.example/mcp' }
    for (const value of [
      { ...note, saved: forged },
      { saved: forged, mark: '' },
      { saved: forged },
      forged,
      'x',
      null,
    ]) {
      expect(suspendedOf({ content: [], _meta: { 'dev.pannier/suspended': value } })).toBeUndefined()
    }
    for (const value of [undefined, null, 7, {}, { _meta: 7 }]) expect(suspendedOf(value)).toBeUndefined()
  })

  test('stores get the saved call before the caller does, each once', async () => {
    const kept: SavedCall[] = []
    const store = { save: (saved: SavedCall) => void kept.push(saved) }
    const one = { request: agree, later: new Suspend({ store }) }
    await suspendCall({ ...round, open: { a: one, b: one } })
    expect(kept).toHaveLength(1)
    expect(Object.keys(kept[0]!.inputRequests)).toEqual(['a', 'b'])
  })
})

describe('a saved call that is not one', () => {
  const good = {
    version: 1,
    savedAt: 'x',
    target: null,
    server: null,
    method: 'tools/call',
    params: {},
    inputRequests: {},
    inputResponses: {},
  }

  test('the least that is one', () => {
    expect(readSaved(JSON.stringify(good))).toEqual(good)
  })

  test.each<[string, unknown]>([
    ['not JSON', `{"requestState":"${SECRET}`],
    ['a list', []],
    ['null', null],
    ['no version', { ...good, version: undefined }],
    ['a version that is no number', { ...good, version: SECRET }],
    ['version 0', { ...good, version: 0 }],
    ['another method', { ...good, method: 'tools/list' }],
    ['a target of another kind', { ...good, target: { url: SECRET } }],
    ['an empty command', { ...good, target: [] }],
    ['parameters that are no object', { ...good, params: SECRET }],
    ['questions that are none', { ...good, inputRequests: { a: SECRET } }],
    ['a question of no kind', { ...good, inputRequests: { a: { method: SECRET, params: {} } } }],
    ['a form without parameters', { ...good, inputRequests: { a: { method: 'elicitation/create' } } }],
    ['responses that are none', { ...good, inputResponses: { a: SECRET } }],
    ['a state that is no string', { ...good, requestState: { SECRET } }],
  ])('is refused with its field named and no value shown: %s', (_, saved) => {
    let thrown: unknown
    try {
      readSaved(saved)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(ClientError)
    expect(thrown).toMatchObject({ code: 'SAVED_INVALID' })
    expect(inspect(thrown, { depth: 9 })).not.toContain(SECRET)
  })

  test('one of a newer version says so', () => {
    expect(() => readSaved({ version: 2, anything: 'new' })).toThrow(expect.objectContaining({ code: 'SAVED_NEWER' }))
  })
})

describe('resuming', () => {
  function recording(result: unknown = { content: [] }) {
    const sent: Json[] = []
    const sender: Sender = {
      send: async (method, params) => {
        sent.push({ method, params })
        return result
      },
    }
    return { sent, sender }
  }

  proves(
    'MRTR-23 MRTR-25',
    'the retry has every answer and the state exactly, and the parameters of the first round',
    async () => {
      const { sent, sender } = recording()
      await resume(await savedCall(), { confirm: { ok: true } }, sender)
      expect(sent).toEqual([
        {
          method: 'tools/call',
          params: {
            name: 'deploy',
            arguments: { service: 'web' },
            _meta: { 'com.example/trace': 'kept' },
            inputResponses: { where: { roots: [] }, confirm: { action: 'accept', content: { ok: true } } },
            requestState: SECRET,
          },
        },
      ])
    },
  )

  proves('MRTR-27', 'no state is sent where none was given', async () => {
    const { sent, sender } = recording()
    await resume(await savedCall({ requestState: undefined }), { confirm: 'decline' }, sender)
    expect(sent[0]!['params']).not.toHaveProperty('requestState')
  })

  test('what belongs to a round or a connection is not sent, whoever wrote it into the saved form', async () => {
    const { sent, sender } = recording()
    const { requestState: _, ...saved } = await savedCall()
    const envelope = { 'io.modelcontextprotocol/protocolVersion': '1999-01-01', own: 1 }
    const params = { ...saved.params, requestState: 'forged', inputResponses: { a: {} }, _meta: envelope }
    await resume({ ...saved, params }, { confirm: 'decline' }, sender)
    expect(sent).toMatchObject([{ params: { inputResponses: { confirm: { action: 'decline' } }, _meta: { own: 1 } } }])
    expect(sent[0]!['params']).not.toHaveProperty('requestState')
    expect(Object.keys((sent[0]!['params'] as { _meta: object })._meta)).toEqual(['own'])
  })

  test.each<[string, Record<string, Json>, string, RegExp]>([
    ['a missing answer', {}, 'QUESTION_UNANSWERED', /"confirm"/],
    ['an answer that nobody asked for', { confirm: { ok: true }, extra: {} }, 'QUESTION_UNANSWERED', /"extra"/],
    ['an answer that does not fit', { confirm: { ok: SECRET } }, 'RESPONSE_INVALID', /"ok"/],
    ['an answer that is none', { confirm: null as never }, 'RESPONSE_INVALID', /"confirm"/],
    ['no answers at all', null as never, 'QUESTION_UNANSWERED', /"confirm"/],
  ])('nothing is sent with %s', async (_, answers, code, sentence) => {
    const { sent, sender } = recording()
    const error: unknown = await resume(await savedCall(), answers, sender).catch((error: unknown) => error)
    expect(error).toMatchObject({ code, message: expect.stringMatching(sentence) })
    expect(inspect(error)).not.toContain(SECRET)
    expect(sent).toEqual([])
  })

  test('an answerer can be asked instead; it learns who asks and for what', async () => {
    const { sent, sender } = recording()
    const seen: unknown[] = []
    const call = await savedCall({
      open: { confirm: { request: agree, later: new Suspend({ target: 'https://a.example/mcp?key=s' }) } },
    })
    await resume(call, ({ key, call, server }) => (seen.push(key, call, server), { action: 'decline' }), sender)
    expect(seen).toEqual([
      'confirm',
      { method: 'tools/call', name: 'deploy' },
      { name: 'shop', target: 'https://a.example/mcp' },
    ])
    expect(sent).toHaveLength(1)
  })

  test('an answerer that fails ends the others, and nothing is sent, whatever it threw', async () => {
    const { sent, sender } = recording()
    const one = { request: agree, later: new Suspend() }
    const signals: AbortSignal[] = []
    const failed = resume(
      await savedCall({ open: { a: one, b: one } }),
      ({ key, signal }) => {
        signals.push(signal)
        return key === 'a' ? new Promise(() => undefined) : Reflect.apply(Promise.reject, Promise, [])
      },
      sender,
    )
    await expect(failed).rejects.toBeUndefined()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
    expect(sent).toEqual([])
  })

  test('what an answerer leaves open again is saved again, with what was answered meanwhile', async () => {
    const { sent, sender } = recording()
    const one = { request: agree, later: new Suspend({ cwd: '/srv' }) }
    const saved = await savedCall({ open: { a: one, b: one } })
    const later = suspend()
    const result = await resume(saved, (asked) => (asked.key === 'a' ? { action: 'decline' } : later(asked)), sender)
    expect(sent).toEqual([])
    const again = suspendedOf(result)!.saved
    expect(Object.keys(again.inputRequests)).toEqual(['b'])
    expect(again.inputResponses).toEqual({ where: { roots: [] }, a: { action: 'decline' } })
    expect([again.requestState, again.cwd]).toEqual([SECRET, '/srv'])
    await resume(again, { b: 'cancel' }, sender)
    expect(sent[0]!['params']).toMatchObject({ inputResponses: { a: { action: 'decline' }, b: { action: 'cancel' } } })
  })

  test('a key of any spelling reaches its own answer', async () => {
    const { sent, sender } = recording()
    const open = JSON.parse('{"__proto__":1,"toString":1}') as Record<string, unknown>
    for (const key of Object.keys(open)) {
      Object.defineProperty(open, key, { value: { request: agree, later: new Suspend() }, enumerable: true })
    }
    await resume(await savedCall({ open: open as never, inputResponses: {} }), () => ({ action: 'decline' }), sender)
    const { inputResponses } = sent[0]!['params'] as { inputResponses: object }
    expect(Object.keys(inputResponses)).toEqual(['__proto__', 'toString'])
  })

  test('a client of the SDK is called by method; a connection made for it is closed, also after an error', async () => {
    const calls: string[] = []
    const method = (name: string) => async () => ({ did: calls.push(name) })
    const client = {
      callTool: method('tool'),
      getPrompt: method('prompt'),
      readResource: method('resource'),
      close: async () => void calls.push('close'),
    }
    await resume(await savedCall({ method: 'prompts/get' }), { confirm: 'cancel' }, client)
    await resume(await savedCall({ method: 'resources/read' }), { confirm: 'cancel' }, async () => client)
    const failing = { ...client, callTool: () => Promise.reject(new Error('gone')) }
    const failed = resume(await savedCall(), { confirm: 'cancel' }, async () => failing)
    await expect(failed).rejects.toThrow('gone')
    expect(calls).toEqual(['prompt', 'resource', 'close', 'close'])
  })
})

describe('a saved call in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-saved-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'call.json')

  test('is readable by its owner only, replaces an older one whole, and leaves nothing else behind', async () => {
    writeFileSync(path, 'older', { mode: 0o644 })
    chmodSync(path, 0o644)
    const saved = await savedCall()
    await savedFile(path).save(saved)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(saved)
    expect(await savedFile(path).load()).toEqual(saved)
    expect(readdirSync(folder)).toEqual(['call.json'])
    await savedFile(path).remove()
    await savedFile(path).remove()
    expect(readdirSync(folder)).toEqual([])
  })

  test('may be made or, if that is meant, replaced; and nothing else is written over', async () => {
    const usable = (text?: string, options?: { mayReplaceCall: boolean }) => {
      if (text !== undefined) writeFileSync(path, text)
      return savedFile(path).assertUsable(options)
    }
    await usable()
    await usable('')
    await usable(JSON.stringify(await savedCall()), { mayReplaceCall: true })
    await expect(usable()).rejects.toMatchObject({
      code: 'SAVED_UNUSABLE',
      message: expect.stringMatching(/still suspended; resume it/),
    })
    await expect(usable('{"private":true}')).rejects.toMatchObject({
      code: 'SAVED_UNUSABLE',
      message: expect.stringMatching(/something else/),
    })
    await expect(usable('x = 1')).rejects.toMatchObject({ code: 'SAVED_UNUSABLE' })
    await expect(savedFile(folder).assertUsable()).rejects.toMatchObject({
      message: expect.stringMatching(/not a plain file/),
    })
    await expect(savedFile(join(folder, 'no', 'x.json')).assertUsable()).rejects.toMatchObject({
      message: expect.stringMatching(/ENOENT/),
    })
    rmSync(path)
  })

  test('says what is wrong when it cannot be used, and shows nothing of it', async () => {
    await expect(savedFile(join(folder, 'gone.json')).load()).rejects.toMatchObject({
      code: 'SAVED_UNUSABLE',
      message: expect.stringContaining('ENOENT'),
    })
    const saved = await savedCall()
    await expect(savedFile(join(folder, 'no', 'folder.json')).save(saved)).rejects.toMatchObject({
      code: 'SAVED_UNUSABLE',
    })
    mkdirSync(join(folder, 'taken'))
    await expect(savedFile(join(folder, 'taken')).save(saved)).rejects.toMatchObject({ code: 'SAVED_UNUSABLE' })
    expect(readdirSync(folder)).toEqual(['taken'])
  })
})

test('a call is suspended when it is saved, and not before', async () => {
  let isSaved = false
  const store = {
    save: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      isSaved = true
    },
  }
  await suspendCall({ ...round, open: { confirm: { request: agree, later: new Suspend({ store }) } } }, 0)
  expect(isSaved).toBe(true)
})
