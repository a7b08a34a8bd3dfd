import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { KEYS, openPty, type Pty } from '../cli/fixtures/pty.ts'

const { enter, down, up, space, ctrlC, ctrlU } = KEYS
const folder = mkdtempSync(join(tmpdir(), 'pannier-terminal-'))
const opened = join(folder, 'opened')
const running: Pty[] = []
let count = 0

afterEach(() => {
  for (const pty of running.splice(0)) pty.kill()
  rmSync(opened, { force: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const about = {
  server: { name: 'shop', target: 'https://shop.example/mcp' },
  call: { method: 'tools/call', name: 'order' },
}

function form(properties: object, required: readonly string[] = [], message = 'Please tell us.') {
  const requestedSchema = { type: 'object', properties, required }
  return { request: { method: 'elicitation/create', params: { message, requestedSchema } }, ...about }
}

function page(url: string, message = 'Please pay.') {
  return { request: { method: 'elicitation/create', params: { mode: 'url', message, url } }, ...about }
}

function ask(questions: readonly object[], env: Record<string, string> = { OPENED: opened }, cols = 90): Pty {
  const [asked, out] = [join(folder, `asked-${count}`), join(folder, `out-${count++}`)]
  writeFileSync(asked, JSON.stringify(questions))
  const pty = openPty({ program: 'test/client/programs/ask.ts', args: [asked], out, env, cols })
  running.push(pty)
  return pty
}

async function answersOf(pty: Pty): Promise<unknown[]> {
  const { exitCode, stdout } = await pty.end()
  expect(exitCode).toBe(0)
  return (JSON.parse(stdout) as { said: unknown[] }).said
}

/** Goes past the first question, to the fields. */
function begin(pty: Pty): Promise<void> {
  return at(pty, 'How do you answer?', enter)
}

/** Waits for a prompt to be drawn, then presses keys. */
function at(pty: Pty, label: string, ...keys: string[]): Promise<void> {
  return after(pty, `◆  ${label}`, ...keys)
}

/** Waits for a text, then presses keys. */
async function after(pty: Pty, text: string, ...keys: string[]): Promise<void> {
  await pty.see(text)
  pty.press(...keys)
}

const colours = [
  { const: '#f00', title: 'Red' },
  { const: '#0f0', title: 'Green' },
  { const: '#00f', title: 'Blue' },
]

describe('a form on a terminal', () => {
  test('says who asks, why and for what, and draws every kind of field; a wrong answer is corrected', async () => {
    const properties = {
      name: { type: 'string', title: 'Your name', description: 'As on the badge', minLength: 2, maxLength: 5 },
      mail: { type: 'string', format: 'email' },
      site: { type: 'string', format: 'uri' },
      day: { type: 'string', format: 'date' },
      when: { type: 'string', format: 'date-time' },
      age: { type: 'integer', minimum: 18, maximum: 120 },
      score: { type: 'number' },
      agree: { type: 'boolean' },
      plain: { type: 'string', enum: ['small', 'large'] },
      titled: { type: 'string', oneOf: colours },
      named: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
      many: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 },
      inks: { type: 'array', items: { anyOf: colours } },
    }
    const pty = ask([form(properties, Object.keys(properties), 'For your badge.')])
    await pty.see('Server: https://shop.example/mcp, calls itself "shop"')
    await pty.see('For:    tools/call "order"')
    await pty.see('> For your badge.')
    await begin(pty)
    await pty.see('> As on the badge')
    await at(pty, 'Your name [name] (2 to 5 characters, required)', enter)
    await after(pty, 'This field is required.', 'A', enter)
    await after(pty, 'at least 2 characters.', 'dalovelace', enter)
    await after(pty, 'at most 5 characters.', ctrlU, 'Ada', enter)
    await at(pty, 'mail (required)', 'ada', enter)
    await after(pty, 'must be an email address', '@example.com', enter)
    await at(pty, 'site (required)', 'example.com', enter)
    await after(pty, 'must be a whole address', ctrlU, 'https://example.com', enter)
    await at(pty, 'day (required)', '2026-02-30', enter)
    await after(pty, 'must be a date', ctrlU, '2026-02-28', enter)
    await at(pty, 'when (required)', '2026-02-28', enter)
    await after(pty, 'must be a time with its zone', 'T10:00:00Z', enter)
    await at(pty, 'age (whole number, 18 to 120, required)', '17', enter)
    await after(pty, 'must be at least 18.', ctrlU, '36.5', enter)
    await after(pty, 'must be a whole number.', ctrlU, '36', enter)
    await at(pty, 'score (number, required)', 'high', enter)
    await after(pty, 'must be a number.', ctrlU, '-1.5e1', enter)
    await at(pty, 'agree (required)', up, enter)
    await at(pty, 'plain (required)', down, enter)
    await at(pty, 'titled (required)', down, down, enter)
    await at(pty, 'named (required)', down, enter)
    await at(pty, 'many (1 to 2 choices, required)', enter)
    await after(pty, 'Choose at least 1.')
    await at(pty, 'many (1 to 2 choices, required)', space, down, space, down, space, enter)
    await after(pty, 'Choose at most 2.')
    await at(pty, 'many (1 to 2 choices, required)', space, enter)
    await at(pty, 'inks (required)', space, down, down, space, enter)
    await pty.see('This will be sent:')
    await pty.see('- Your name [name]: "Ada"')
    await pty.see('- inks: ["#f00","#00f"]')
    await at(pty, 'Send it?', enter)
    expect(await answersOf(pty)).toEqual([
      {
        action: 'accept',
        content: {
          name: 'Ada',
          mail: 'ada@example.com',
          site: 'https://example.com',
          day: '2026-02-28',
          when: '2026-02-28T10:00:00Z',
          age: 36,
          score: -15,
          agree: true,
          plain: 'large',
          titled: '#00f',
          named: 'l',
          many: ['b', 'c'],
          inks: ['#f00', '#00f'],
        },
      },
    ])
  })

  test('defaults stand in their fields and are taken with Enter; without one nothing is agreed to', async () => {
    const properties = {
      name: { type: 'string', default: 'Ada' },
      text: { type: 'string', default: 'two\nlines' },
      age: { type: 'integer', default: 36, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      agree: { type: 'boolean', default: true },
      other: { type: 'boolean' },
      titled: { type: 'string', oneOf: colours, default: '#0f0' },
      many: { type: 'array', items: { enum: ['a', 'b', 'c'] }, default: ['a', 'c'] },
    }
    const pty = ask([form(properties, Object.keys(properties))])
    await begin(pty)
    await at(pty, 'name (required)', enter)
    await pty.see('> two')
    await at(pty, 'text (required)', enter)
    await at(pty, 'age (whole number, required)', enter)
    for (const name of ['agree', 'other', 'titled', 'many']) await at(pty, `${name} (`, enter)
    await at(pty, 'Send it?', enter)
    const content = {
      name: 'Ada',
      text: 'two\nlines',
      age: 36,
      agree: true,
      other: false,
      titled: '#0f0',
      many: ['a', 'c'],
    }
    expect(await answersOf(pty)).toEqual([{ action: 'accept', content }])
  })

  test('optional fields can be left empty, also where they have a default; a field of no known kind is not asked', async () => {
    const properties = {
      name: { type: 'string', minLength: 3, default: 'Ada' },
      age: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      agree: { type: 'boolean' },
      titled: { type: 'string', oneOf: colours },
      many: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 },
      deep: { type: 'object' },
    }
    const pty = ask([form(properties)])
    await begin(pty)
    await at(pty, 'name (at least 3 characters, optional)', ctrlU, enter)
    await at(pty, 'age (whole number, at least 1, optional)', enter)
    await at(pty, 'agree (optional)', enter)
    await at(pty, 'titled (optional)', enter)
    await at(pty, 'many (at least 1 choice, optional)', enter)
    await pty.see('- name: (left empty)')
    await at(pty, 'Send it?', enter)
    expect(await answersOf(pty)).toEqual([{ action: 'accept', content: {} }])
    expect(pty.shown()).not.toContain('deep')
  })

  test('with one yes or no, or one choice, is one prompt, and Enter alone sends nothing but a default', async () => {
    const yesNo = { type: 'boolean', title: 'Deploy now?', description: 'To production' }
    const colour = { type: 'string', oneOf: colours }
    const cases: readonly [question: object, keys: readonly string[], answer: object][] = [
      [form({ ok: yesNo }, ['ok']), [up, up, enter], { action: 'accept', content: { ok: true } }],
      [form({ ok: yesNo }, ['ok']), [up, enter], { action: 'accept', content: { ok: false } }],
      [form({ ok: yesNo }, ['ok']), [enter], { action: 'decline' }],
      [form({ ok: yesNo }, ['ok']), [down, enter], { action: 'cancel' }],
      [form({ ok: yesNo }, ['ok']), [ctrlC], { action: 'cancel' }],
      [form({ ok: { ...yesNo, default: true } }, ['ok']), [enter], { action: 'accept', content: { ok: true } }],
      [form({ ok: yesNo, deep: { type: 'object' } }), [up, enter], { action: 'accept', content: {} }],
      [form({ ink: colour }, ['ink']), [enter], { action: 'decline' }],
      [form({ ink: colour }, ['ink']), [up, enter], { action: 'accept', content: { ink: '#00f' } }],
      [form({ ink: { ...colour, default: '#0f0' } }), [enter], { action: 'accept', content: { ink: '#0f0' } }],
    ]
    const pty = ask(cases.map(([question]) => question))
    for (const [question, keys] of cases) {
      const isInk = JSON.stringify(question).includes('"ink"')
      await pty.see(isInk ? '> Please tell us.' : '> To production')
      await at(pty, isInk ? 'ink (' : 'Deploy now? [ok] (', ...keys)
    }
    expect(await answersOf(pty)).toEqual(cases.map(([, , answer]) => answer))
    expect(pty.shown()).not.toMatch(/How do you answer|It asks for|Send it/)
  })

  test('a choice is also made by typing: letters lead to an answer, and Enter sends it', async () => {
    const [yes, no] = [true, false].map((ok) => ({ action: 'accept', content: { ok } }))
    const large = { action: 'accept', content: { size: 'large' } }
    const cases: readonly [keys: readonly string[], answer: object | undefined][] = [
      [['y', enter], yes],
      [['n', enter], no],
      [['N', enter], no],
      [['yes', enter], yes],
      [['yeah', enter], yes],
      [['y', 'n', enter], no],
      [['x', 'z', enter], { action: 'decline' }],
      [['y', up, enter], { action: 'cancel' }],
      [['n', down, 'y', enter], yes],
      [['cancel', enter], { action: 'cancel' }],
      [['decline', enter], { action: 'decline' }],
      [['k', enter], no],
      [['l', enter], large],
      [['large', enter], large],
      [['sl', enter], large],
    ]
    const size = form({ size: { type: 'string', enum: ['small', 'large'] } }, ['size'])
    const questions = cases.map(([, answer]) => (answer === large ? size : form({ ok: { type: 'boolean' } }, ['ok'])))
    const pty = ask(questions)
    for (const [keys, answer] of cases) await at(pty, answer === large ? 'size (' : 'ok (', ...keys)
    expect(await answersOf(pty)).toEqual(cases.map(([, answer]) => answer))
  })

  test('what will be sent can be looked at and changed first', async () => {
    const pty = ask([form({ name: { type: 'string' }, size: { enum: ['small', 'large'] } }, ['name', 'size'])])
    await begin(pty)
    await at(pty, 'name (required)', 'Ada', enter)
    await at(pty, 'size (required)', enter)
    await at(pty, 'Send it?', down, enter)
    await at(pty, 'Which one?', down, enter)
    await at(pty, 'size (required)', down, enter)
    await pty.see('- size: "large"')
    await at(pty, 'Send it?', down, enter)
    await at(pty, 'Which one?', enter)
    await at(pty, 'name (required)', ' L', enter)
    await pty.see('- name: "Ada L"')
    await at(pty, 'Send it?', enter)
    expect(await answersOf(pty)).toEqual([{ action: 'accept', content: { name: 'Ada L', size: 'large' } }])
  })

  proves(
    'MRTR-32',
    'a person can decline or cancel at the start, in a field by Ctrl-C, by Ctrl-D, and at the end',
    async () => {
      const one = form({ name: { type: 'string' } }, ['name'])
      const pty = ask(Array(7).fill(one))
      await at(pty, 'How do you answer?', down, enter)
      await at(pty, 'How do you answer?', down, down, enter)
      await at(pty, 'How do you answer?', ctrlC)
      await begin(pty)
      await at(pty, 'name (required)', 'A', ctrlC)
      await at(pty, 'How do you answer?', '\u0004')
      for (const keys of [
        [down, down],
        [down, down, down],
      ]) {
        await begin(pty)
        await at(pty, 'name (required)', 'Ada', enter)
        await at(pty, 'Send it?', ...keys, enter)
      }
      const answers = ['decline', 'cancel', 'cancel', 'cancel', 'cancel', 'decline', 'cancel'].map((action) => ({
        action,
      }))
      expect(await answersOf(pty)).toEqual(answers)
    },
  )

  test('questions that come together are asked one after the other', async () => {
    const pty = ask([form({ a: { type: 'string' } }, ['a'], 'First'), form({}, [], 'Second')])
    await pty.see('> First')
    await begin(pty)
    await at(pty, 'a (required)', 'x', enter)
    await pty.see('Send it?')
    expect(pty.shown()).not.toContain('Second')
    pty.press(enter)
    await pty.see('> Second')
    await after(pty, 'Accept', enter)
    const { stdout } = await pty.end()
    expect(JSON.parse(stdout)).toEqual({
      said: [
        { action: 'accept', content: { a: 'x' } },
        { action: 'accept', content: {} },
      ],
      held: ['held', 'released', 'held', 'released'],
    })
  })

  test('a call that is cancelled closes its form, and the next question has the terminal to itself', async () => {
    const both = [form({ a: { type: 'string' } }, ['a'], 'First'), form({ b: { type: 'string' } }, ['b'], 'Second')]
    const pty = ask(both)
    await begin(pty)
    await at(pty, 'a (required)', 'typed')
    await pty.see('typed')
    pty.kill('SIGUSR2')
    await pty.see('no answer is needed any more')
    await pty.see('> Second')
    await begin(pty)
    await at(pty, 'b (required)', 'ok', enter)
    await at(pty, 'Send it?', enter)
    expect(await answersOf(pty)).toEqual([
      { error: 'Error: The call was cancelled.' },
      { action: 'accept', content: { b: 'ok' } },
    ])
  })
})

describe('text of a hostile server', () => {
  const attacks = [
    '\u001b[2J\u001b[1;1H', // clears the screen
    '\u001b]0;owned\u0007', // sets the window's title
    '\u001b]52;c;ZXZpbA==\u0007', // writes to the clipboard
    '\u001b]8;;https://evil.example\u001b\\', // a link behind other words
    '\u009b31m',
    '\u202e',
    '\u2066',
    '\u200b',
    '\u0007',
    '\r└  Sent.',
  ]
  const evil = (word: string): string => `${attacks.join(word)}${word}`

  test('reaches the terminal as plain text only, wherever it stands', async () => {
    const properties = {
      [`key${evil('K')}`]: { type: 'string', title: evil('T'), description: evil('D'), default: `x${evil('V')}` },
      pick: {
        type: 'string',
        title: evil('P'),
        oneOf: [
          { const: evil('C'), title: evil('O') },
          { const: 'b', title: 'B' },
        ],
      },
      many: { type: 'array', items: { type: 'string', enum: [evil('M'), 'b'] } },
    }
    const question = {
      ...form(properties, Object.keys(properties), evil('S')),
      server: { name: evil('N'), target: evil('A') },
    }
    const pty = ask([{ ...question, call: { method: evil('m'), name: evil('n') } }])
    await begin(pty)
    await after(pty, 'Take the given text', enter)
    await after(pty, '○ B', enter)
    await at(pty, 'many (required)', space, enter)
    await at(pty, 'Send it?', enter)
    const [answer] = await answersOf(pty)
    // What is sent is what the server offered, unchanged.
    expect(answer).toEqual({
      action: 'accept',
      content: { [`key${evil('K')}`]: `x${evil('V')}`, pick: evil('C'), many: [evil('M')] },
    })
    for (const attack of attacks) expect(pty.raw()).not.toContain(attack)
    expect(pty.raw()).not.toContain('\u0007')
    expect(pty.raw()).not.toMatch(/[\u0080-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/)
    // Its words begin no line: each has our guide before it.
    for (const line of pty.shown().split(/\r?\n/)) expect(line).toMatch(/^([│┌└◆◇■▲●○◻◼]|$)/)
    expect(pty.shown()).toContain('> �[2J�[1;1HS�]0;owned')
  })

  test('is cut where it is long, and wrapped to a narrow terminal', async () => {
    const pty = ask([form({}, [], 'word '.repeat(200_000))], { OPENED: opened }, 44)
    await pty.see('… (cut; the whole text has 1000000')
    await begin(pty)
    expect(await answersOf(pty)).toEqual([{ action: 'accept', content: {} }])
    const lines = pty.shown().split(/\r?\n/)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(lines.length).toBeLessThan(50)
  })

  test('a form that cannot be shown ends the question with an error', async () => {
    const pty = ask([form({ '\u001b[2J': { type: 'object' } }, ['\u001b[2J'])])
    const [answer] = await answersOf(pty)
    expect(answer).toMatchObject({ code: 'QUESTION_UNSUPPORTED' })
  })
})

describe('a page to visit', () => {
  const openedPages = (): string => readFileSync(opened, { encoding: 'utf8', flag: 'a+' })

  test('is opened after a yes only, with its host and whole address in view; Enter alone opens nothing', async () => {
    const path = 'x'.repeat(150)
    const pty = ask([page(`https://pay.example:8443/${path}?end`), ...Array(3).fill(page('https://other.example/'))])
    await pty.see('> Please pay.')
    await pty.see('Host:    pay.example:8443')
    await pty.see('?end')
    await pty.see('Open this page at pay.example:8443')
    expect(openedPages()).toBe('')
    pty.press(up, enter)
    await at(pty, 'Continue the call?')
    expect(openedPages()).toBe(`https://pay.example:8443/${path}?end\n`)
    pty.press(enter)
    for (const keys of [[enter], [ctrlC], [up, enter]]) await at(pty, 'Open this page at other.example', ...keys)
    await at(pty, 'Continue the call?', down, down, enter)
    const actions = ['accept', 'decline', 'cancel', 'cancel'].map((action) => ({ action }))
    expect(await answersOf(pty)).toEqual(actions)
    expect(openedPages().split('\n')).toHaveLength(3)
    expect(pty.shown().replace(/\s*│\s*/g, '')).toContain(`https://pay.example:8443/${path}?end`)
  })

  test('letters that imitate others are made visible', async () => {
    const pty = ask([page('https://аррӏе.com/login')])
    await pty.see('Host:    xn--80ak6aa92e.com')
    await pty.see('аррӏе.com')
    await at(pty, 'Open this page at xn--80ak6aa92e.com', enter)
    expect(await answersOf(pty)).toEqual([{ action: 'decline' }])
  })

  test('addresses that are not safe are never opened, and the server is told no', async () => {
    const unsafe = [
      'http://pay.example/',
      'https://good.example@evil.example/',
      'javascript:alert(1)',
      'file:///etc/passwd',
    ]
    const pty = ask(unsafe.map((url) => page(url)))
    for (const _ of unsafe) await pty.see('The address is not opened')
    expect(await answersOf(pty)).toEqual(unsafe.map(() => ({ action: 'decline' })))
    expect(openedPages()).toBe('')
  })

  test('the system opener gets the address as one argument and no shell sees it; a failing one is no disaster', async () => {
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const opener = join(bin, 'xdg-open')
    const withFirst = { PATH: [bin, process.env['PATH']].join(delimiter) }
    writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${opened}'\n`)
    chmodSync(opener, 0o755)
    const pty = ask([page('https://a.example/$(touch x);&b=`id`')], withFirst)
    await at(pty, 'Open this page at a.example', up, enter)
    await at(pty, 'Continue the call?', enter)
    expect(await answersOf(pty)).toEqual([{ action: 'accept' }])
    expect(openedPages()).toBe('1\nhttps://a.example/$(touch%20x);&b=%60id%60\n')

    writeFileSync(opener, '#!/bin/sh\nexit 3\n')
    const failing = ask([page('https://a.example/')], withFirst)
    await at(failing, 'Open this page at a.example', up, enter)
    await failing.see('No browser could be opened')
    await at(failing, 'Continue the call?', enter)
    expect(await answersOf(failing)).toEqual([{ action: 'accept' }])
  })
})

test('without a terminal nothing is drawn and the error says what to do', () => {
  const program = fileURLToPath(new URL('programs/ask.ts', import.meta.url))
  const asked = join(folder, 'asked')
  writeFileSync(asked, JSON.stringify([form({}), page('https://a.example')]))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=pannier-source', program, asked], {
    env: { ...process.env, OPENED: opened },
    encoding: 'utf8',
    input: '',
  })
  expect(status).toBe(0)
  expect(stderr).toBe('')
  const { said } = JSON.parse(stdout) as { said: unknown[] }
  expect(said).toEqual(
    Array(2).fill({ code: 'TERMINAL_MISSING', error: expect.stringMatching(/Run this in a terminal/) }),
  )
})
