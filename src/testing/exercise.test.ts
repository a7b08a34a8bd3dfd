import { readFileSync } from 'node:fs'
import { assertSound, exercise, FINDING_CODES, type MakeServer, type Overrides, recorder } from 'pannier/testing'
import { describe, expect, test } from 'vitest'
import {
  always,
  answers,
  ask,
  bothAnswers,
  call,
  codesOf,
  effect,
  sound,
  withTool,
} from '../../test/testing/fixtures/work.ts'

describe('a server that does not take its overrides is found', () => {
  const keepsOwn = (own: keyof Overrides, value: unknown): MakeServer => {
    return (overrides) => withTool(sound, { ...overrides, [own]: value })
  }

  test('by keys that no other instance has', async () => {
    const makeServer: MakeServer = ({ keys: _keys, ...rest }) => withTool(sound, rest)
    const codes = await codesOf(makeServer, {}, bothAnswers)
    expect(codes).toContain('PROCESS_DEPENDENT')
    expect(codes).toContain('ROTATION_LOST')
  })

  test('by a state that never gets old', async () => {
    expect(
      await codesOf(
        keepsOwn('clock', () => 0),
        {},
        bothAnswers,
      ),
    ).toEqual(['EXPIRY_IGNORED'])
  })

  test('by a state that serves anybody', async () => {
    const principals = { caller: { id: 'ann' }, other: { id: 'bob' } }
    expect(
      await codesOf(
        keepsOwn('principal', () => ({ id: 'all' })),
        { principals },
        bothAnswers,
      ),
    ).toEqual(['PRINCIPAL_NOT_BOUND'])
  })

  test('by a ledger that only one instance has', async () => {
    const makeServer: MakeServer = ({ ledger: _ledger, ...rest }) => withTool(sound, rest)
    expect(await codesOf(makeServer, {}, bothAnswers)).toEqual(['ONCE_REPEATED'])
  })
})

describe('a server in front of the tool that helps too much is found', () => {
  /** Rewrites the body of each request before the server sees it. */
  const rewriting = (rewrite: (params: Record<string, unknown>) => void): MakeServer => {
    return (overrides) => {
      const server = withTool(sound, overrides)
      const fetchBehind = server.fetch
      const fetch = async (request: Request): Promise<Response> => {
        const body = (await request.json()) as { params: Record<string, unknown> }
        rewrite(body.params)
        const { url, method, headers } = request
        return fetchBehind(new Request(url, { method, headers, body: JSON.stringify(body) }))
      }
      return Object.assign(server, { fetch })
    }
  }

  test('by arguments it makes equal', async () => {
    const codes = await codesOf(
      rewriting((params) => {
        params['arguments'] = { id: 7 }
      }),
      {},
      bothAnswers,
    )
    expect(codes).toEqual(['ARGUMENTS_NOT_BOUND'])
  })

  test('by a state it drops or mends', async () => {
    const good = new Map<string, string>()
    const codes = await codesOf(
      rewriting((params) => {
        const state = params['requestState']
        if (typeof state !== 'string') return
        const start = state.slice(0, 20)
        if (!good.has(start)) good.set(start, state)
        params['requestState'] = good.get(start)
      }),
      {},
      bothAnswers,
    )
    expect(codes).toEqual(['TAMPERING_ACCEPTED'])
  })
})

describe('an exercise that is itself at fault says so', () => {
  test('by a question without an answer', async () => {
    await expect(exercise(always(sound), call, { first: { ok: true } })).rejects.toMatchObject({
      code: 'ANSWER_MISSING',
      message: expect.stringContaining('"second"'),
    })
  })

  test('by an answer that does not fit its form', async () => {
    await expect(exercise(always(sound), call, { first: { ok: 'perhaps' } })).rejects.toMatchObject({
      code: 'ANSWER_REFUSED',
    })
  })

  test('by a call that the server refuses', async () => {
    await expect(exercise(always(sound), { tool: 'none' })).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: expect.stringContaining('-32602'),
    })
  })

  test('by a client that declares too little', async () => {
    await expect(exercise(always(sound), call, bothAnswers, { capabilities: {} })).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: expect.stringContaining('-32021'),
    })
  })
})

test('assertSound throws one error that names the tool, each finding and what to do', async () => {
  const report = await exercise(
    always(async (_, ctx) => {
      await ask(ctx, 'first')
      effect('mail')
      return `Sent, ${Math.random()}`
    }),
    call,
    answers,
  )
  expect(() => assertSound(report)).toThrow(
    expect.objectContaining({
      code: 'TOOL_UNSOUND',
      message: expect.stringMatching(
        /^"work" did not pass its exercise:\n- RESULT_CHANGED .*\n- EFFECT_REPEATED .*ctx\.once/,
      ),
    }),
  )
})

test('exercises may run side by side, and effects outside of any are only recorded', async () => {
  const own = recorder()
  own('before')
  const bad = always(async (_, ctx) => {
    await ask(ctx, 'first')
    own('mail')
    return 'Sent.'
  })
  const reports = await Promise.all([exercise(always(sound), call, bothAnswers), exercise(bad, call, answers)])
  expect(reports.map(({ ok }) => ok)).toEqual([true, false])
  expect(own.seen[0]).toEqual({ name: 'before', detail: undefined })
})

test('every code of a finding is found by a test', () => {
  const source = ['exercise', 'exercise.faults'].map((name) =>
    readFileSync(new URL(`${name}.test.ts`, import.meta.url), 'utf8'),
  )
  expect(FINDING_CODES.filter((code) => !source.join().includes(`'${code}'`))).toEqual([])
})
