/**
 * How demos compare messages with those that the documents print; and that `examples/documents` has them as they are
 * printed, where the documents are beside the repository.
 */
import { afterEach, expect, test, vi } from 'vitest'
import { differencesOf } from '../../examples/demos/compare.ts'
import { Transcript } from '../../examples/demos/transcript.ts'
import detection from '../../examples/documents/detection.json' with { type: 'json' }
import sep1655 from '../../examples/documents/sep1655.json' with { type: 'json' }
import sep1685 from '../../examples/documents/sep1685.json' with { type: 'json' }
import sep2322 from '../../examples/documents/sep2322.json' with { type: 'json' }
import { documents, missingPieces, quotesIn } from './fixtures/seeds.ts'

const SESSION = 'modelcontextprotocol.io/state/session'

/** What each document prints, by words that only it has. */
const PRINTED: Readonly<Record<string, readonly unknown[]>> = {
  'SEP-1655: Client-Side State Management': [
    sep1655.capabilities,
    // The two messages lack a comma, so that what they set and send is looked for.
    sep1655.setting.result._meta[SESSION],
    sep1655.sending.params._meta[SESSION],
    sep1655.sending.params.cursor,
  ],
  'This SEP proposes adding an optional `state` field': [
    sep1685.call,
    ...sep1685.rounds.flatMap(({ request, response }) => [request, response]),
    sep1685.answer,
  ],
  'SEP-2322: Multi Round-Trip Requests': [
    sep2322.inputRequests.github_login,
    sep2322.inputRequests.capital_of_france,
    ...Object.values(sep2322.inputResponses),
    ...[sep2322.weather, sep2322.workItems, sep2322.weatherWrongKey, sep2322.echo, sep2322.echoWrongField]
      .flat()
      .flatMap(({ request, answer }: { request: object; answer: object }) => [request, answer]),
  ],
  'Detecting Stateless vs Stateful MCP Servers': Object.values(detection),
}

/** A text as JSON without white space and comments. */
function squeezed(text: string): string {
  return text
    .replaceAll(/(?<!:)\/\/ .*$/gm, '')
    .replaceAll(/\s+/g, '')
    .replaceAll('100.0', '100')
}

const documentWith = (words: string): string => documents.find((text) => text.includes(words)) ?? ''

const printed = documents.length > 0 ? Object.entries(PRINTED) : []

test.each(printed)('the document "%s" prints each of its messages', (words, messages) => {
  const text = squeezed(documentWith(words))
  for (const message of messages) expect(text).toContain(squeezed(JSON.stringify(message)))
})

// Where a document writes `{ ... }`, it prints a form and no message.
test.each(printed)('each message that the document "%s" prints as JSON is one of them', (words, messages) => {
  const fences = documentWith(words).matchAll(/^ *```json5?\b.*\n([^`]*)```/gm)
  const whole = Array.from(fences, ([, text = '']) => squeezed(text)).filter((text) => !text.includes('{...}'))
  const known = messages.map((message) => squeezed(JSON.stringify(message)))
  expect(whole.filter((text) => !known.some((message) => text.includes(message)))).toEqual([])
})

test.each(printed.slice(0, 1))('what a demo prints as words of a document is compared with the documents', () => {
  const output = '1. Client sends … to the moon.\n"PROHIBITED: Standalone server push", here\n  document  NOT ALLOWED\n'
  expect(quotesIn(output).map(missingPieces)).toEqual([['to the moon.'], [], []])
})

afterEach(() => void vi.restoreAllMocks())

test.each<[string, unknown, unknown, string[]]>([
  ['nothing', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ['a value', { a: 1, b: 2 }, { a: 1, b: 3 }, ['b']],
  ['a member that is missing', { a: { b: 1 } }, { a: {} }, ['a.b']],
  ['a member that was added', {}, { _meta: { 'x.y/z': 1 } }, ['_meta']],
  ['a name with dots', { _meta: { 'x.y/z': 1 } }, { _meta: { 'x.y/z': 2 } }, ['_meta["x.y/z"]']],
  ['lists of different lengths', { a: [1] }, { a: [1, 2] }, ['a']],
  ['an item of a list', { a: [1, 2] }, { a: [1, 3] }, ['a.1']],
  ['a list and an object', { a: [] }, { a: {} }, ['a']],
  ['null and nothing', { a: null }, {}, ['a']],
])('two messages differ in %s', (_, printed, sent, paths) => {
  expect(differencesOf(printed, sent).map(({ path }) => path)).toEqual(paths)
})

function quietTranscript(reasons: Record<string, string>): { transcript: Transcript; lines: string[] } {
  const lines: string[] = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line))
  return { transcript: new Transcript(reasons), lines }
}

test('a transcript gives the reason for a difference once, and what the document has each time', () => {
  const { transcript, lines } = quietTranscript({ id: 'Ids count up.' })
  transcript.request({ id: 2 }, { id: 1 })
  transcript.answer({ id: 3 }, { id: 1 })
  transcript.request({ a: 1 }, { a: 1 })
  transcript.end()
  expect(lines.filter((line) => line.includes('Ids count up.'))).toHaveLength(1)
  expect(lines.filter((line) => /≠ id: 1/.test(line))).toHaveLength(2)
  expect(lines.at(-1)).toContain('= the document')
  expect(lines[0]).toContain('= the same, + added, − left out, ≠ another value')
})

test('a transcript stops at a difference without a reason, and at a reason that nothing needs', () => {
  const { transcript } = quietTranscript({ id: 'Ids count up.' })
  expect(() => transcript.request({ id: 1, more: 2 }, { id: 1 })).toThrow('more is 2, and in the document undefined.')
  expect(() => transcript.end()).toThrow('Nothing differs at id.')
})
