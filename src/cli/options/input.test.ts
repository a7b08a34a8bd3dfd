import { expect, test } from 'vitest'
import { readInputFile } from './input.ts'

test('a file that cannot be read is named, with its option', async () => {
  const sentence = 'Cannot read ./none.json, the file given with --answers (ENOENT); check its path.'
  await expect(readInputFile('./none.json', '--answers')).rejects.toThrow(sentence)
})

test.each([
  ['JSON', '{ "password": "hunter2" }'],
  ['a long word', `hunter2${'x'.repeat(40)}`],
  ['several lines', 'hunter2\nhunter2'],
])('%s in place of a name is not shown', async (_, content) => {
  const error: unknown = await readInputFile(content, '--json').catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ message: expect.stringMatching(/^Cannot read the file given with --json \(E/) })
})

test('nor is anything in place of the name of a secret file', async () => {
  const error: unknown = await readInputFile('hunter2', '--keys-file', undefined, { named: false }).catch(
    (e: unknown) => e,
  )
  expect(error).toMatchObject({ message: 'Cannot read the file given with --keys-file (ENOENT); check its path.' })
})
