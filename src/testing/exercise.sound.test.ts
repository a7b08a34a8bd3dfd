import { createServer } from 'pannier/server'
import { type Answers, assertSound, exercise, type MakeServer } from 'pannier/testing'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { proves } from '../../test/proves.ts'
import {
  always,
  answers,
  ask,
  bothAnswers,
  call,
  codesOf,
  effect,
  type Handler,
  sound,
  withTool,
} from '../../test/testing/fixtures/work.ts'

describe('a sound tool', () => {
  proves('MRTR-47', 'gives the same result however its rounds are spread over processes', async () => {
    effect.clear()
    const report = await exercise(always(sound), call, bothAnswers)
    expect(report).toEqual({
      name: 'work',
      ok: true,
      result: { resultType: 'complete', content: [{ type: 'text', text: 'Done with link-7.' }] },
      rounds: [
        { asked: ['first'], steps: [], effects: [], stateBytes: expect.any(Number) },
        { asked: ['second'], steps: ['link'], effects: ['link'], stateBytes: expect.any(Number) },
        { asked: [], steps: ['charge'], effects: ['charge'], stateBytes: 0 },
      ],
      findings: [],
    })
    expect(report.rounds[1]?.stateBytes).toBeGreaterThan(100)
    expect(effect.seen.length).toBeGreaterThan(2)
    expect(() => assertSound(report)).not.toThrow()
  })

  test('stands with principals, a reset and changed arguments of its own', async () => {
    const reset = vi.fn()
    const principals = { caller: { id: 'ann' }, other: { id: 'bob' } }
    expect(await codesOf(always(sound), { reset, principals, changedArguments: { id: 8 } }, bothAnswers)).toEqual([])
    expect(reset.mock.calls.length).toBeGreaterThan(4)
  })

  test('stands when a person declines, when a model writes and when a page is visited', async () => {
    const handler: Handler = async (_, ctx) => {
      const { content } = await ctx.sample('model', { messages: [], maxTokens: 1 })
      const roots = await ctx.roots('roots')
      await ctx.visit('page', 'https://example.com/', 'Go')
      await ask(ctx, 'first')
      return JSON.stringify([content, roots])
    }
    const given: Answers = {
      model: { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hi.' } },
      roots: { roots: [{ uri: 'file:///here' }] },
      page: 'accept',
      first: () => 'decline',
    }
    const report = await exercise(always(handler), call, given, { expectError: true })
    expect(report.findings).toEqual([])
    expect(report.result).toMatchObject({ isError: true, content: [{ text: 'The question "first" was declined.' }] })
  })

  test('stands when a busy instance hands it over', async () => {
    const handler: Handler = async (_, ctx) => {
      await ask(ctx, 'first')
      await ctx.step('half', () => effect('half'))
      await ctx.checkpoint()
      return 'Done.'
    }
    const report = await exercise((overrides) => withTool(handler, { ...overrides, maxInFlight: 0 }), call, answers)
    expect(report.findings).toEqual([])
    expect(report.rounds.map(({ asked }) => asked)).toEqual([['first'], [], []])
  })

  test('may put chance and time into a step, and may give a new id each time a step runs', async () => {
    let created = 0
    const handler: Handler = async (_, ctx) => {
      const code = await ctx.step('code', () => Math.random())
      await ask(ctx, 'first', `Type ${code}`)
      const id = await ctx.step('create', () => ++created)
      return `Created ${id} with ${code}`
    }
    expect(await codesOf(always(handler))).toEqual([])
  })

  test('may be a prompt, a resource, or a tool whose arguments are mirrored in headers', async () => {
    const input = {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    }
    const makeServer: MakeServer = (overrides) =>
      createServer({ name: 'exercised', version: '1', ...overrides })
        .prompt('talk', { description: 'Talks', input: z.object({ to: z.string() }) }, async ({ to }, ctx) => {
          const { ok } = await ask(ctx, 'first')
          return `Talk to ${to}: ${ok}`
        })
        .resource('docs://one', { name: 'one' }, async (_, ctx) => `One: ${(await ask(ctx, 'first')).ok}`)
        .tool('query', { description: 'Asks a region', input }, async ({ region }, ctx) => {
          await ask(ctx, 'first')
          return `From ${String(region)}`
        })
    for (const each of [
      { prompt: 'talk', arguments: { to: 'Ann' } },
      { resource: 'docs://one' },
      { tool: 'query', arguments: { region: 'Zürich' } },
    ]) {
      const report = await exercise(makeServer, each, answers)
      expect(report.findings).toEqual([])
      expect(report.rounds).toHaveLength(2)
    }
  })
})
