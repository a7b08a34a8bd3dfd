import { expect, test } from 'vitest'
import { TemplateStarts } from './addresses.ts'

const templated = (...uris: readonly string[]) => uris.map((uriTemplate) => ({ uriTemplate }))

test.each<[uri: string, server: number | undefined]>([
  ['mail://1', 1],
  ['mail://in/1', 0],
  ['mail://in', undefined],
  ['mail://inn/1', undefined],
  ['mai', undefined],
  ['', undefined],
  ['mail://1/2', 1],
  ['mail://zebra', 2],
  ['zebra://1', 2],
])('the first server with a template about %s is %s', (uri, server) => {
  const lists = [
    templated('mail://in/{id}', '{+any}'),
    templated('mail://1{rest}', 'mail://in/deeper{rest}'),
    templated('mail://z{rest}', 'mail://1/{rest}', 'zebra://{id}', 'mail://in/{id}'),
  ]
  expect(new TemplateStarts(lists).firstAbout(uri)).toBe(server)
})

test('of all short beginnings of three servers the first that fits is found', () => {
  const texts = ['a', 'b'].flatMap((a) => [a, ...['a', 'b', 'c'].flatMap((b) => [a + b, `${a}${b}a`, `${a}${b}ab`])])
  const uris = texts.flatMap((text) => [text, `${text}a`, `${text}z`, `${text}ab`])
  for (let round = 0; round < 200; round++) {
    const starts = [3, 4, 5].map((prime) =>
      texts.filter((_, at) => (at * 7 + round * 11 + at * round) % (prime * 2) === 1),
    )
    const found = new TemplateStarts(starts.map((each) => templated(...each.map((text) => `${text}{x}`))))
    for (const uri of uris) {
      const first = starts.findIndex((each) => each.some((text) => uri.startsWith(text)))
      expect(found.firstAbout(uri)).toBe(first < 0 ? undefined : first)
    }
  }
})
