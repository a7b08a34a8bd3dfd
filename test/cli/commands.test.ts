/** The client commands of the program against servers of three makers, over HTTP and as child processes, in both eras. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NASTY } from '../client/fixtures/servers/pannier.ts'
import { quickStart } from '../bundle/environment.ts'
import { commandOf, type RunningServer, type Maker, places, startServers } from '../client/fixtures/servers/start.ts'
import { type Given, ProgramHost, type Ran, startPannier } from './fixtures/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-program-'))
const done = join(folder, 'done')
const variables = Object.entries({ ...quickStart, DONE: done }).map((entry) => entry.join('='))
const STEERING = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u

const start = (args: readonly string[], given: Given = {}) =>
  startPannier(args, { ...given, env: { XDG_DATA_HOME: folder, DONE: done, ...given.env } })

const host = new ProgramHost()
const hosted = (args: readonly string[], given: Given = {}): Promise<Ran> =>
  host.run(args, { ...given, env: { XDG_DATA_HOME: folder, DONE: done } })

let kitchens: ReadonlyMap<Maker, RunningServer>

beforeAll(async () => {
  writeFileSync(done, '')
  kitchens = await startServers({ DONE: done })
})
afterAll(() => {
  host.close()
  for (const kitchen of kitchens.values()) kitchen.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(places)('against $name', ({ maker, host }) => {
  /** The words of a command, with this server as TARGET: before the operands, or at the end of the line. */
  const line = (command: string, ...rest: readonly string[]): string[] =>
    host === 'http'
      ? [command, kitchens.get(maker)?.url ?? '', ...rest]
      : [command, ...rest, '--', '/usr/bin/env', ...variables, ...commandOf(maker, 'stdio')]

  test('tools are listed, called with typed arguments, and get their questions answered', async () => {
    const [tools, added, cooked] = await Promise.all([
      hosted(line('tools')),
      hosted(line('call', 'add', '--arg', 'a=1', '--arg', 'b=2.5')),
      hosted(line('call', 'cook', '--yes')),
    ])
    expect(tools).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringMatching(/^add\n {2}Adds\.\n {4}a: number\n {4}b: number\n/),
    })
    expect(tools?.stdout).not.toMatch(STEERING)
    expect(added).toEqual({ status: 0, stdout: '3.5\n', stderr: '' })
    expect(cooked).toEqual({ status: 0, stdout: 'Here is your soup.\n', stderr: '' })
  })

  test('Ctrl-C cancels the request on the server; the log was on stderr', async () => {
    const before = readFileSync(done, 'utf8').length
    const { child, ended } = start(line('call', 'simmer', '--log-level', 'info'))
    await new Promise((resolve) => child.stderr?.once('data', resolve))
    child.kill('SIGINT')
    expect(await ended).toEqual({ status: 130, stdout: '', stderr: '[info] on the stove\nCancelled.\n' })
    await expect.poll(() => readFileSync(done, 'utf8').slice(before)).toBe('simmering\ncancelled\n')
  })
})

describe.each(['pannierServer', 'sdkV1Server'] as const)('with %s', (maker) => {
  const line = (command: string, ...rest: readonly string[]): string[] => [
    command,
    kitchens.get(maker)?.url ?? '',
    ...rest,
  ]

  test('prompts and resources are listed, got and read', async () => {
    const [prompts, resources, prompt, menu, photo] = await Promise.all([
      hosted(line('prompts')),
      hosted(line('resources')),
      hosted(line('prompt', 'recipe', '--arg', 'dish=soup')),
      hosted(line('read', 'menu://today')),
      hosted(line('read', 'menu://photo.png')),
    ])
    expect(prompts).toMatchObject({ status: 0, stdout: expect.stringMatching(/^recipe\n[^]*dish: string/) })
    expect(resources).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/menu:\/\/today {2}menu \(text\/plain\)/),
    })
    expect(prompt).toEqual({ status: 0, stdout: 'user:\nTell me how to cook soup.\n', stderr: '' })
    expect(menu).toEqual({ status: 0, stdout: 'Soup.\n', stderr: '' })
    expect(photo?.stdout).toMatch(/^\[blob image\/png, \d+ B; see it with --save DIR\]\n$/)
  })

  test('results are JSON for programs, and arguments may be', async () => {
    const [json, given] = await Promise.all([
      hosted(line('call', 'nasty', '--output', 'json')),
      hosted(line('call', 'add', '--json', '-', '--arg', 'b=6'), { input: '{"a": 5, "b": 5}' }),
    ])
    expect(json?.stdout).not.toMatch(STEERING)
    expect(JSON.parse(json?.stdout ?? '')).toMatchObject({ content: [{ type: 'text', text: NASTY }] })
    expect(given).toMatchObject({ status: 0, stdout: '11\n' })
  })

  test('a tool that fails, wrong arguments and a missing tool have their exit codes', async () => {
    const [failed, wrong, missing] = await Promise.all([
      hosted(line('call', 'fail')),
      hosted(line('call', 'add', '--arg', 'a=hunter2', '--arg', 'b=1')),
      hosted(line('call', 'bake')),
    ])
    expect(failed).toEqual({ status: 1, stdout: '', stderr: 'It burnt.\n' })
    expect(wrong).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/the tool wants number/) })
    expect(wrong?.stderr).not.toMatch('hunter2')
    expect(missing).toMatchObject({ status: 2, stderr: expect.stringMatching(/has no tool "bake"; it has add, fail/) })
  })

  test('a prompt and a resource that are not there are refused with what there is, or how to see it', async () => {
    const [prompt, resource] = await Promise.all([hosted(line('prompt', 'nope')), hosted(line('read', 'menu://nope'))])
    expect(prompt).toEqual({
      status: 2,
      stdout: '',
      stderr: 'error: The server has no prompt "nope"; it has recipe.\n',
    })
    expect(resource).toMatchObject({
      status: 4,
      stdout: '',
      stderr: expect.stringMatching(/^error: .*-32602.*\nSee what there is with: pannier resources TARGET\n$/),
    })
  })

  test('an argument that the tool does not name is sent, with a note', async () => {
    const ran = await hosted(line('call', 'add', '--arg', 'a=1', '--arg', 'b=2', '--arg', 'c=hunter2'))
    const stderr = 'note: The tool names no argument "c"; it is sent all the same.\n'
    expect(ran).toEqual({ status: 0, stdout: '3\n', stderr })
  })

  test('questions are answered by a file, declined, or not to be asked at all', async () => {
    // A question that an older server pushes has no key.
    const answers = join(folder, `${maker}.json`)
    writeFileSync(
      answers,
      JSON.stringify({ other: 'decline', [maker === 'sdkV1Server' ? '*' : 'dish']: { dish: 'stew' } }),
    )
    const [fixed, declined, unasked] = await Promise.all([
      hosted(line('call', 'cook', '--answers', answers)),
      hosted(line('call', 'cook', '--decline')),
      hosted(line('call', 'cook')),
    ])
    expect(fixed).toEqual({ status: 0, stdout: 'Here is your stew.\n', stderr: '' })
    expect(declined).toMatchObject({ status: 5, stdout: '', stderr: expect.stringMatching(/declined/) })
    expect(unasked?.status).toBe(maker === 'sdkV1Server' ? 1 : 4)
  })

  test('what a server writes never steers the terminal, and its images are saved where --save says', async () => {
    const into = mkdtempSync(join(folder, 'saved-'))
    const [text, picture] = await Promise.all([
      hosted(line('call', 'nasty')),
      hosted(line('call', 'picture', '--save', into)),
    ])
    expect(text?.stdout).not.toMatch(STEERING)
    expect(text?.stdout).toMatch(/^a.*red\n\ttab/)
    expect(picture).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\[image saved to /) })
    expect(readFileSync(join(into, 'picture.png')).subarray(1, 4).toString()).toBe('PNG')
    expect(readdirSync(into)).toHaveLength(1)
  })

  test('a server that is silent for too long is given up, with its request', async () => {
    const before = readFileSync(done, 'utf8').length
    const ran = await hosted(line('call', 'simmer', '--timeout', '3'))
    expect(ran).toEqual({ status: 7, stdout: '', stderr: 'error: The server was silent for 3 s.\n' })
    await expect.poll(() => readFileSync(done, 'utf8').slice(before)).toBe('simmering\ncancelled\n')
  })
})
