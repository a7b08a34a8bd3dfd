/** What a state of a journal is bound to, in an official SDK server that has our `verify`. */
import { McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { requestStateCodec, withJournal } from 'pannier/sdk'
import { rotationSteps } from 'pannier/state'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { send, tampered } from '../../test/sdk/fixtures/clients.ts'
import { startSdkHost } from '../../test/sdk/fixtures/host.ts'
import { accept, call, confirmation, done, KEYS, start, stateOf, stopAll } from '../../test/sdk/fixtures/releases.ts'

afterEach(stopAll)

describe('a state that comes back', () => {
  const refused = { code: -32602, message: 'Invalid or expired requestState' }
  const inputResponses = { ok: accept({ ok: true }) }

  test('is refused by the SDK with -32602 when it was changed, and the handler is not entered', async () => {
    const host = await start()
    const requestState = tampered(stateOf(await send(host, call)))
    done.length = 0
    expect((await send(host, { ...call, requestState, inputResponses })).error).toMatchObject(refused)
    expect(done).toEqual([])
  })

  test('is refused when somebody else brings it', async () => {
    const host = await start()
    const requestState = stateOf(await send(host, call, 'ann'))
    expect((await send(host, { ...call, requestState, inputResponses }, 'bob')).error).toMatchObject(refused)
    expect((await send(host, { ...call, requestState, inputResponses })).error).toMatchObject(refused)
    expect((await send(host, { ...call, requestState, inputResponses }, 'ann')).result?.resultType).toBe(
      'input_required',
    )
  })

  test('is refused when it comes too late', async () => {
    const requestState = stateOf(await send(await start(), call))
    const later = await start({ clock: () => Date.now() + 62_000 })
    expect((await send(later, { ...call, requestState, inputResponses })).error).toMatchObject(refused)
  })

  test('is refused when it comes to another tool', async () => {
    const host = await start()
    const requestState = stateOf(await send(host, call))
    expect((await send(host, { ...call, name: 'deploy_too', requestState, inputResponses })).error).toMatchObject(
      refused,
    )
  })

  test('is refused, as a result with isError, when it comes with other arguments', async () => {
    const host = await start()
    const requestState = stateOf(await send(host, call))
    done.length = 0
    const other = await send(host, { ...call, arguments: { env: 'dev' }, requestState, inputResponses })
    expect(other.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('not valid here') }],
    })
    expect(done).toEqual([])
  })

  test('is checked by the wrapper where the server has no hook', async () => {
    const host = await start({ hook: false })
    const requestState = stateOf(await send(host, call))
    const good = await send(host, { ...call, requestState, inputResponses })
    expect(good.result?.inputRequests).toHaveProperty('day')
    const bad = await send(host, { ...call, requestState: tampered(requestState), inputResponses })
    expect(bad.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('not valid here') }] })
  })

  test('opens while keys rotate, and no longer once its key is retired', async () => {
    const { spread, promote, retire } = rotationSteps(KEYS)
    const requestState = stateOf(await send(await start({ keys: spread }), call))
    const promoted = await send(await start({ keys: promote }), { ...call, requestState, inputResponses })
    expect(promoted.result?.inputRequests).toHaveProperty('day')
    expect((await send(await start({ keys: retire }), { ...call, requestState, inputResponses })).error).toMatchObject(
      refused,
    )
  })

  test('is told to the logger by its code, and never by its content', async () => {
    const lines: unknown[] = []
    const note = (details: object, message: string) => void lines.push([details, message])
    const host = await start({ logger: { debug: note, info: note, warn: note, error: note } })
    const requestState = stateOf(await send(host, call))
    await send(host, { ...call, arguments: { env: 'dev' }, requestState, inputResponses })
    expect(lines).toEqual([[{ tool: 'deploy', code: 'STATE_ARGUMENTS' }, 'A request state was refused.']])
  })
})

test('a state is refused by another tool also where no header names the tool', async () => {
  const state = requestStateCodec({ keys: KEYS, audience: 'x' })
  const journaled = withJournal({ state })
  const asking = (name: string) =>
    journaled(name, async (_, ctx) => `${(await ctx.ask('ok', { message: 'Well?', schema: confirmation })).ok}`)
  const round = (requestState?: string, inputResponses = {}) => {
    const envelope = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    return {
      mcpReq: { method: 'tools/call', envelope, inputResponses, requestState: () => requestState },
    } as unknown as ServerContext
  }
  const { requestState } = (await asking('one')({}, round())) as { requestState: string }
  const answered = round(requestState, { ok: accept({ ok: true }) })
  await expect(asking('two')({}, answered)).rejects.toThrow('not valid here')
  expect(await asking('one')({}, answered)).toMatchObject({ content: [{ text: 'true' }] })
})

test('what a state belongs to can leave out arguments that are new each time', async () => {
  let count = 0
  const make = (boundArguments?: (args: unknown) => unknown) => () => {
    const state = requestStateCodec({ keys: KEYS, audience: 'x' })
    const server = new McpServer({ name: 'x', version: '1' }, { requestState: { verify: state.verify } })
    const journaled = withJournal({ state, ...(boundArguments && { boundArguments }) })
    const inputSchema = z.object({ id: z.number().default(() => count++) })
    server.registerTool(
      't',
      { inputSchema },
      journaled('t', async ({ id }, ctx) => {
        await ctx.ask('ok', { message: 'Well?', schema: confirmation })
        return `Id ${typeof id}.`
      }),
    )
    return server
  }
  for (const [bound, text] of [
    [undefined, 'The request state is not valid here'],
    [() => null, 'Id number.'],
  ] as const) {
    const host = await startSdkHost(make(bound))
    const requestState = stateOf(await send(host, { name: 't' }))
    const { result } = await send(host, { name: 't', requestState, inputResponses: { ok: accept({ ok: true }) } })
    expect(result?.content?.[0]?.text).toContain(text)
    await host.close()
  }
})
