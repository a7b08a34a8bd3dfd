import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Answerers, clientCode, connect, fixed, folders, refuse } from 'pannier/client'
import { createServer, type Server } from 'pannier/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  atTerminal,
  callTool,
  connectWithLog,
  failureOf,
  type Filled,
  type Form,
  inFolders,
  inWindow,
  scripted,
  withModel,
} from '../../docs/snippets/answering.ts'
import { server as asking } from '../../docs/snippets/asking.ts'
import { KEYS, openPty } from '../cli/fixtures/pty.ts'

process.env['PANNIER_LOG_LEVEL'] = 'silent'
const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-'))
const said = (text: string) => ({ content: [{ type: 'text', text }] })
let url: string

/** The address of a server that lives as long as the test. */
async function listening(server: Server): Promise<string> {
  const { url: address } = await server.listen()
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return address
}

beforeAll(async () => {
  ;({ url } = await asking.listen())
})
afterAll(async () => {
  await asking.drain({ deadlineMs: 0 })
  rmSync(folder, { recursive: true, force: true })
})

/** Answers a form that has one question of yes or no. */
async function sayYes(pty: ReturnType<typeof openPty>, field: string) {
  await pty.see(`◆  ${field} (required)`)
  pty.press(KEYS.up, KEYS.up, KEYS.enter)
  return pty.end()
}

test('a tool of the guide may ask about each item of a list, as many as people have', async () => {
  const files = Array.from({ length: 30 }, (_, at) => `file ${at}`)
  const client = await connect(url, { answerers: { form: () => ({ action: 'accept', content: { agree: true } }) } })
  onTestFinished(() => client.close())
  expect(await client.callTool({ name: 'remove_files', arguments: { files } })).toMatchObject(
    said(`Removed: ${files.join(', ')}.`),
  )
})

describe('docs/snippets/answering.ts', () => {
  test('a person at the terminal is asked, and stdout has the result alone', async () => {
    const out = join(folder, 'out')
    const pty = openPty({ program: 'test/docs/programs/atTerminal.ts', args: [url, 'clean_up'], out })
    onTestFinished(() => pty.kill())
    await pty.see(`Server: ${url}, calls itself "asking"`)
    await pty.see('> Remove all drafts?')
    const { exitCode, stdout } = await sayYes(pty, 'agree')
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toEqual(said('The drafts are gone.').content)
  })

  test('examples/first-tool/client.ts asks its person, and shows the result', async () => {
    const server = createServer({ name: 'first-tool', version: '1.0.0' })
    server.tool(
      'delete_branch',
      { description: 'Deletes.', input: z.object({ branch: z.string() }) },
      async (it, ctx) => {
        const { sure } = await ctx.ask('sure', { message: 'Delete it?', schema: z.object({ sure: z.boolean() }) })
        return `${it.branch}: ${sure}`
      },
    )
    const out = join(folder, 'client.txt')
    const program = 'examples/first-tool/client.ts'
    const pty = openPty({ program, args: [await listening(server)], out })
    onTestFinished(() => pty.kill())
    await pty.see('> Delete it?')
    const { exitCode, stdout } = await sayYes(pty, 'sure')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('old-idea: true')
  })

  test('without a terminal the call ends with an error that says so', async () => {
    const call = callTool(url, atTerminal(), 'clean_up')
    expect(await call.catch(clientCode)).toBe('TERMINAL_MISSING')
  })

  test('a window of the application gets plain text, the fields, and where the question comes from', async () => {
    const shown: Form[] = []
    const answers: Filled[] = [{ action: 'accept', content: { guests: 4, outside: true } }, { action: 'decline' }]
    const form = inWindow(async (each) => (shown.push(each), answers.shift()!))
    const book = () => callTool(url, { form }, 'book_table', { restaurant: 'Garden\u001b[31m' })
    expect(await book()).toMatchObject({
      content: [{ text: expect.stringContaining('A table for 4, outside, at Garden') }],
    })
    expect(shown[0]).toMatchObject({
      from: `${url}, for book_table`,
      message: 'How many people will come to Garden\ufffd[31m?',
      fields: { guests: { type: 'integer', minimum: 1, maximum: 12 }, outside: { type: 'boolean' } },
      required: ['guests', 'outside'],
    })
    expect(await book()).toMatchObject({ isError: true, ...said('The question "party" was declined.') })
  })

  test('content that does not fit is asked for again by the server', async () => {
    const guests = [40, 4]
    const form = inWindow(async () => ({ action: 'accept', content: { guests: guests.shift()!, outside: true } }))
    expect(await callTool(url, { form }, 'book_table', { restaurant: 'Garden' })).toMatchObject(
      said('A table for 4, outside, at Garden.'),
    )
    expect(guests).toEqual([])
  })

  test('a call that is cancelled closes the window', async () => {
    const opened = Promise.withResolvers<AbortSignal>()
    const form = inWindow(({ signal }) => {
      opened.resolve(signal)
      return new Promise(() => undefined)
    })
    const client = await connect(url, { answerers: { form } })
    onTestFinished(() => client.close())
    const abort = new AbortController()
    const call = client.callTool({ name: 'clean_up' }, { signal: abort.signal })
    const window = await opened.promise
    expect(window.aborted).toBe(false)
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await expect.poll(() => window.aborted).toBe(true)
  })

  test('a script has fixed answers, and default values for the rest', async () => {
    const server = createServer({ name: 'pack', version: '1.0.0' })
    const gift = { type: 'object', properties: { gift: { type: 'boolean', default: true } }, required: ['gift'] }
    server.tool('pack', { description: 'Packs.' }, async (_, ctx) => {
      const { gift: wrapped } = (await ctx.ask('wrap', { message: 'A gift?', schema: gift })) as { gift: boolean }
      return wrapped ? 'Wrapped.' : 'Plain.'
    })
    expect(await callTool(await listening(server), scripted, 'pack')).toMatchObject(said('Wrapped.'))
    expect(await callTool(url, scripted, 'clean_up')).toMatchObject({ isError: true })
    // The colour has no default value, so defaults() declines.
    expect(await callTool(url, scripted, 'order_shirt')).toMatchObject(said('The question "colour" was declined.'))
    expect(await callTool(url, scripted, 'pay', { order: 'a' })).toMatchObject(
      said('The question "payment" was declined.'),
    )
  })

  test.each<[string, Answerers, string]>([
    ['has no answer for', { form: fixed({}) }, 'QUESTION_UNANSWERED'],
    ['has an answer that does not fit', { form: fixed({ agree: { agree: 'perhaps' } }) }, 'RESPONSE_INVALID'],
    ['has an answerer of another kind for', { form: folders([]) }, 'QUESTION_UNSUPPORTED'],
    ['has an answerer that fails for', { form: () => Promise.reject(new Error('no window')) }, 'ANSWER_FAILED'],
  ])('a call whose host %s a question ends with a code', async (_, answerers, code) => {
    expect(await callTool(url, answerers, 'clean_up').catch(clientCode)).toBe(code)
  })

  test('the cause of a failure is there, of a call and of connecting', async () => {
    const broken = new Error('no window')
    const form = () => Promise.reject(broken)
    const failed: unknown = await callTool(url, { form }, 'clean_up').catch((error: unknown) => error)
    expect(failureOf(failed)).toEqual({ code: 'ANSWER_FAILED', cause: broken })
    expect((failed as Error).message).toContain('error.data.cause')
    const nowhere: unknown = await callTool('http://127.0.0.1:1/', {}, 'clean_up').catch((error: unknown) => error)
    expect(failureOf(nowhere)).toEqual({ code: 'CONNECT_FAILED', cause: expect.any(Error) })
    expect(failureOf(new Error('no'))).toEqual({ code: undefined, cause: undefined })
  })

  test('a kind without an answerer is not declared, so the server says what is missing', async () => {
    await expect(callTool(url, { url: refuse() }, 'clean_up')).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    })
  })

  test('a model answers when the person allows it', async () => {
    const seen: string[] = []
    const complete = async (prompt: string) => `About ${prompt.length} characters`
    const headline = (answer: boolean) =>
      callTool(
        url,
        withModel(complete, async (prompt, { server }) => (seen.push(`${server.name}: ${prompt}`), answer)),
        'headline',
        { article: 'Rain.' },
      )
    expect(await headline(true)).toMatchObject(said('About 27 characters'))
    expect(seen).toEqual(['asking: Write a headline for: Rain.'])
    await expect(headline(false)).rejects.toMatchObject({
      data: { code: 'ANSWER_FAILED', cause: { message: 'The person did not allow it.' } },
    })
  })

  test('folders are told by their real paths', async () => {
    const real = pathToFileURL(realpathSync(folder)).href
    const call = await callTool(url, inFolders(folder, folder), 'folders')
    expect(call).toMatchObject(said(`${real}\n${real}`))
    const missing = join(folder, basename(folder))
    expect(await callTool(url, inFolders(missing, folder), 'folders').catch(clientCode)).toBe('FOLDER_UNUSABLE')
  })

  test('an entry of a file is a target, and one that is not there is an error of connect', async () => {
    const file = join(folder, 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: { asking: { url } } }))
    expect(await callTool(`${file}#asking`, scripted, 'greet')).toMatchObject({ isError: true })
    expect(await callTool(`${file}#other`, scripted, 'greet').catch(clientCode)).toBe('CONFIG_INVALID')
  })

  test('a host hears why no state is kept, and what a process says on its stderr', async () => {
    const lines: string[] = []
    const client = await connectWithLog(url, scripted, (line) => lines.push(line))
    await client.close()
    expect(lines).toEqual([
      'No state is kept for servers named by an IP address. Use allowLocal (--allow-local) while you develop.',
    ])
    const program = ['--eval', 'console.error("no \\u001b[31moven"); process.exit(3)']
    const failed = connectWithLog([process.execPath, ...program], scripted, (line) => lines.push(line))
    expect(await failed.catch(clientCode)).toBe('CONNECT_FAILED')
    expect(lines).toContain('no \ufffd[31moven')
  })
})
