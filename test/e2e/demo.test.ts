import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startInstance } from '../../examples/work-items/fleet.ts'
import { terminalPerson } from '../../examples/work-items/person.ts'
import type { FormRequest } from '../../examples/work-items/wire.ts'
import { root } from '../../scripts/repository.ts'
import { documents, missingPieces, quotesIn } from '../documents/fixtures/seeds.ts'
import { proves } from '../proves.ts'
import { env, useInstances } from './fixtures/instances.ts'
import { sep } from './fixtures/sep2322.ts'

const { folder } = useInstances()

const guard = join(root, 'examples/nodeVersion.js')
const command = ['--conditions=pannier-source', '--import', guard, join(root, 'examples/demo.ts')]

interface Finished {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

async function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Finished> {
  const child = spawn(process.execPath, [...command, ...args], {
    env: { ...env, TMPDIR: folder, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close') as Promise<[number | null]>
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, output, errors }
}

const played = new Map<string, Promise<Finished>>()

/** Runs a demo once for all tests. */
function play(name: string): Promise<Finished> {
  const finished = played.get(name) ?? run([name])
  played.set(name, finished)
  return finished
}

const DEMO_NAMES =
  'rounds weather upgrade shedding echo detach errors tasks state scope cart probe gateway approval'.split(' ')

const demo = run(['--ask'], { FORCE_COLOR: '1' })

proves(
  'ST-21',
  'npm run demo shows the work-item flow on three processes, one of them killed, and ends with 0',
  async () => {
    const { code, output, errors } = await demo
    expect(errors).toBe('')
    expect(code).toBe(0)
    expect(output.match(/served by instance \w/g)).toEqual(['A', 'B', 'C'].map((name) => `served by instance ${name}`))
    expect(output.indexOf('Instance B, which asked this, is killed (SIGKILL)')).toBeGreaterThan(
      output.indexOf('served by instance B'),
    )
    for (const { answer } of sep.workItems) {
      for (const { params } of Object.values(answer.result!.inputRequests ?? {}))
        expect(output).toContain(params.message)
    }
    expect(output).toContain(sep.workItems[2]!.answer.result!.content![0]!.text)
    expect(output).toContain('Read next: examples/work-items/server.ts')
  },
)

test('the demo writes no key and no whole state, and no colours where there is no terminal', async () => {
  const { output } = await demo
  // The longest words are addresses; a key has 43 characters and a state some hundreds.
  expect(output.match(/[\w-]{40,}/g)).toBeNull()
  expect(output).toMatch(/requestState\s+[\w-]{12}… \(\d{3} characters, sealed\)/)
  expect(output).not.toContain('\u001b')
})

/** How many quotes a demo has. */
const QUOTES: Readonly<Record<string, number>> = { upgrade: 6, shedding: 2, detach: 5, state: 1, scope: 3, gateway: 2 }

/** What is printed as words of a document is in a document. */
function expectQuotes(name: string, output: string): void {
  const quotes = quotesIn(output)
  expect(quotes).toHaveLength(QUOTES[name] ?? 0)
  if (documents.length > 0) expect(quotes.flatMap(missingPieces)).toEqual([])
}

test.each(['weather', 'upgrade', 'echo', 'detach', 'errors', 'scope', 'cart', 'probe'])(
  'npm run demo -- %s plays the example of its document, with a reason for each difference',
  async (name) => {
    const { code, output, errors } = await play(name)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(output).toMatch(/^Shown: /m)
    expect(output).toMatch(/^Read next: \S+/m)
    for (const [path] of output.matchAll(/(?:examples|docs)\/[\w./-]+\w/g))
      expect(existsSync(join(root, path)), path).toBe(true)
    expect(output.match(/[\w-]{61,}/g)).toBeNull() // no state and no key as a whole
    expectQuotes(name, output)
  },
)

proves('ST-27', 'a stream that was cut is resumed at another instance, after the first one was killed', async () => {
  const { code, output, errors } = await run(['state'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const takenOver =
    /is killed \(SIGKILL\)\.\n  D takes the answer, and continues the stream: Bug #4522 resolved as Duplicate/
  expect(output).toMatch(takenOver)
  const phases = Array.from(
    output.matchAll(/^  (before|phase \d).* (there|none) +(done|lost) +(done|lost) +(.*)$/gm),
    ([, ...row]) => row,
  )
  expect(phases).toEqual([
    ['before', 'there', 'done', 'done', 'lost'],
    ['phase 1', 'there', 'done', 'done', 'done, reported: missing-in-store'],
    ['phase 2', 'there', 'done', 'done', 'done'],
    ['phase 3', 'there', 'done', 'lost', 'done'],
    ['phase 4', 'none', 'done', 'lost', 'done'],
  ])
  expectQuotes('state', output)
})

proves('DT-26', 'servers with the flags --stateless and --stateful are found to be what they say', async () => {
  const { output } = await play('probe')
  expect(output).toMatch(/--stateless +STATELESS +99 %/)
  expect(output).toMatch(/--stateful +STATEFUL +99 %/)
})

test('npm run demo -- probe shows each method of the combination decide', async () => {
  const { output } = await play('probe')
  const combination = output.slice(output.indexOf('The combination, in the order of the document'))
  const decided = Array.from(combination.matchAll(/decided by (method \d)/g), ([, method]) => method)
  expect(decided).toEqual(['method 3', 'method 1', 'method 1', 'method 2', 'method 1', 'method 1'])
})

test('npm run demo -- errors ends with the right answer under the same key', async () => {
  const { output } = await play('errors')
  expect(output.match(/"echo_input": \{/g)).toHaveLength(4) // asked twice, answered twice
  expect(output).toContain('"text": "Echo: Hello World!"')
})

test('npm run demo -- list names every demo', async () => {
  const { output } = await run(['list'])
  const names = Array.from(
    output.matchAll(/^npm run demo -- (\w+) +(SEP-\d+|detection|approvals) /gm),
    ([, name]) => name,
  )
  expect(names).toEqual(DEMO_NAMES)
})

test('npm run demo -- tasks answers a task whose process was killed on another process', async () => {
  const { code, output, errors } = await run(['tasks'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const processes = Array.from(output.matchAll(/process (\d+)/g), ([, pid]) => pid)
  expect(new Set(processes).size).toBe(2)
  expect(output.indexOf('Instance A is killed (SIGKILL)')).toBeGreaterThan(output.indexOf('asks     icing'))
  expect(output).toContain('A cake that says "Well done", mixed by instance A and baked by instance B.')
  expect(output.split('\n').length).toBeLessThan(40)
})

proves(
  'MRTR-13',
  'npm run demo -- shedding moves a computation to another instance by a state without questions',
  async () => {
    const { code, output, errors } = await run(['shedding'])
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    expect(output.match(/A call in .*/g)).toEqual(['A call in 2 rounds: A, then B', 'A call in 1 round: A'])
    expect(output).toContain('Shown: A kept 1 of 2 calls and gave 1 away.')
    expect(output).not.toMatch(/^ +inputRequests/m)
    expect(output.match(/the .* shop: .*/g)).toEqual([
      'the first shop: bread by A, milk by B, salt by B, tea by B.',
      'the second shop: bread by A, milk by A, salt by A, tea by A.',
    ])
    expect(output.match(/[\w-]{40,}/g)).toBeNull()
    expect(output.split('\n').length).toBeLessThan(40)
    expectQuotes('shedding', output)
  },
)

test('npm run demo -- gateway serves three servers of both eras to clients of both eras, who are asked', async () => {
  const { code, output, errors } = await run(['gateway'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(output).toMatch(/info +releases +STATELESS +A server was probed/)
  expect(output).toMatch(/warn +events +STATEFUL +A server keeps something between calls/)
  expect(output).toMatch(/"warnings": \[\s*"The server \\"events\\" keeps something/)
  expect(output).toMatch(/weather +a program +2025-11-25/)
  expect(output).toMatch(/releases +an address +2026-07-28/)
  expect(output).toMatch(/events +an address +2025-11-25/)
  expect(output.match(/5 tools at \/mcp/g)).toHaveLength(2)
  expect(output.match(/is asked Deploy the build for staging\?/g)).toHaveLength(2)
  expect(output.match(/is asked Step 2: Enter date and time/g)).toHaveLength(2)
  expect(output.match(/gets +Deployed the build for staging\./g)).toHaveLength(2)
  expect(output.match(/gets +Event created successfully!.*Harvest/g)).toHaveLength(2)
  expectQuotes('gateway', output)
})

test('npm run demo -- approval lets a call wait for a manager, and another gateway continues it after a kill', async () => {
  const { code, output, errors } = await run(['approval'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const story = [
    'by ann, at gateway A',
    'It waits for role:manager to answer: Approve a call of the tool "delete"',
    'files that are deleted: 0',
    'Gateway A is killed (SIGKILL).',
    'question files_delete, called by ann',
    'answer   approve: true, by mia',
    'by ann, at gateway B',
    'gets     old.txt is gone.',
    'files that are deleted: old.txt',
    'approval   delete   by mia',
    'The log is whole: ',
  ]
  const places = story.map((each) => output.indexOf(each))
  expect(places.every((place) => place >= 0)).toBe(true)
  expect(places).toEqual(places.toSorted((one, other) => one - other))
  expectQuotes('approval', output)
})

test.each([['nothing'], ['tasks', 'shedding'], ['tasks', '--ask'], ['--nothing']])(
  'the demo names the demos when it does not know %s %s',
  async (...args) => {
    const { code, errors } = await run(args.filter((arg) => arg !== undefined))
    expect(code).toBe(2)
    expect(errors).toMatch(
      /^(The demo does not know \S+|\S+ cannot be given with tasks)\. Usage: .*Names: rounds, weather, /,
    )
  },
)

test('the demo says that --ask needs a terminal, and goes on', async () => {
  const { output } = await demo
  expect(output).toContain('--ask needs a terminal and this is none, so the fixed answers are used.')
})

test('the demo says which folder it could not use', async () => {
  const { code, errors } = await run([], { TMPDIR: join(folder, 'nowhere') })
  expect(code).toBe(1)
  expect(errors).toMatch(/^\nThe demo stopped: .*nowhere.*\n$/)
})

test.each(['20.20.2', '22.17.1'])('on Node %s the demo says in one line what it needs', (version) => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, ...command]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(new RegExp(`^The examples need Node 22\\.18 or newer; this is ${version}\\..*\\n$`))
})

/** Sends SIGINT as soon as the instances are there. */
async function interrupted(): Promise<{ code: number | null; urls: readonly string[] }> {
  const child = spawn(process.execPath, command, {
    env: { ...env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += String(chunk)
    if (output.match(/http:/g)?.length === 3) child.kill('SIGINT')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, urls: output.match(/http:\S+/g) ?? [] }
}

test('a demo that is stopped leaves no process behind', async () => {
  let { code, urls } = await interrupted()
  // On a busy machine the demo may be over before it gets the signal.
  for (let tries = 1; code === 0 && tries < 5; tries++) ({ code, urls } = await interrupted())
  expect(code).toBe(130)
  expect(urls).toHaveLength(3)
  for (const url of urls) await expect.poll(() => listens(url), { interval: 20 }).toBe(false)
})

async function listens(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

test('an instance whose port is taken says so, and so does whoever started it', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const env = { PORT: String(port), WORK_ITEMS: join(folder, 'taken.db') }
  const program = join(root, 'examples/work-items/instance.ts')
  await expect(startInstance({ name: 'A', program, env })).rejects.toThrow(
    `Instance A did not start: it exited with code 1. It said: Instance A cannot start: port ${port} is taken`,
  )
  taken.close()
})

test('an instance that dies while it starts is reported with its last words', async () => {
  const program = join(root, 'examples/work-items/none.ts')
  await expect(startInstance({ name: 'B', program, env: {} })).rejects.toThrow(
    /^Instance B did not start: it exited with code 1\. It said: Error.*none\.ts/,
  )
})

const resolution = sep.workItems[0]!.answer.result!.inputRequests!['resolution'] as FormRequest
const original = sep.workItems[1]!.answer.result!.inputRequests!['duplicate_of'] as FormRequest

test.each([
  [['3'], { action: 'accept', content: { resolution: 'Duplicate' } }, 1, resolution],
  [["won't fix"], { action: 'accept', content: { resolution: "Won't Fix" } }, 1, resolution],
  [['', '0', '5', 'Sometimes', '1'], { action: 'accept', content: { resolution: 'Fixed' } }, 5, resolution],
  [['Decline'], { action: 'decline' }, 1, resolution],
  [[], { action: 'cancel' }, 1, resolution],
  [['four', '', '4301'], { action: 'accept', content: { duplicateOfId: 4301 } }, 3, original],
  [['x', 'decline'], { action: 'decline' }, 2, original],
])('a person who types %j answers %j after %i prompts', async (typed, answer, prompts, form) => {
  const input = new PassThrough()
  const output = new PassThrough()
  const person = terminalPerson({ input, output, onInterrupt: () => {} })
  input.end(typed.map((line) => `${line}\n`).join(''))
  expect(await person.answer('key', form)).toEqual(answer)
  person.close()
  output.end()
  const shown = await text(output)
  expect(shown).toContain(form.params.message)
  expect(shown.split('or decline: ')).toHaveLength(prompts + 1)
  for (const choice of form.params.requestedSchema.properties['resolution']?.enum ?? []) expect(shown).toContain(choice)
})
