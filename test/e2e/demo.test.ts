import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
import { proves } from '../proves.ts'
import { env, useInstances } from './fixtures/instances.ts'
import { sep } from './fixtures/sep2322.ts'

const { folder } = useInstances()

const guard = join(root, 'examples/nodeVersion.js')
const command = ['--conditions=pannier-source', '--import', guard, join(root, 'examples/work-items/demo.ts')]

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
    expect(output).not.toContain('inputRequests')
    expect(output.match(/the .* shop: .*/g)).toEqual([
      'the first shop: bread by A, milk by B, salt by B, tea by B.',
      'the second shop: bread by A, milk by A, salt by A, tea by A.',
    ])
    expect(output.match(/[\w-]{40,}/g)).toBeNull()
    expect(output.split('\n').length).toBeLessThan(40)
  },
)

test('npm run demo -- gateway serves three servers of both eras to clients of both eras, who are asked', async () => {
  const { code, output, errors } = await run(['gateway'])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(output).toMatch(/weather +a program +2025-11-25/)
  expect(output).toMatch(/releases +an address +2026-07-28/)
  expect(output).toMatch(/events +an address +2025-11-25/)
  expect(output.match(/5 tools at \/mcp/g)).toHaveLength(2)
  expect(output.match(/is asked Deploy the build for staging\?/g)).toHaveLength(2)
  expect(output.match(/is asked Step 2: Enter date and time/g)).toHaveLength(2)
  expect(output.match(/gets +Deployed the build for staging\./g)).toHaveLength(2)
  expect(output.match(/gets +Event created successfully!.*Harvest/g)).toHaveLength(2)
  expect(output.split('\n').length).toBeLessThan(40)
})

test.each([['nothing'], ['tasks', 'shedding'], ['tasks', '--ask'], ['--nothing']])(
  'the demo names the demos when it does not know %s %s',
  async (...args) => {
    const { code, errors } = await run(args.filter((arg) => arg !== undefined))
    expect(code).toBe(2)
    expect(errors).toMatch(/^The demo does not know \S+\. Usage: .*Demos: rounds, tasks, shedding, gateway, .*\n$/)
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
