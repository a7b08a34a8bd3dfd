import { expect, test } from 'vitest'
import { findListed } from './interactive.ts'

const many = Array.from({ length: 40 }, (_, index) => ({ name: `mail_${index}` }))

test.each([
  [
    'a short list is shown',
    [{ name: 'add' }, { name: 'fail' }],
    'bake',
    'The server has no tool "bake"; it has add, fail.',
  ],
  ['an empty list is said to be empty', [], 'bake', 'The server has no tool "bake"; it has none.'],
  [
    'of a long list the nearest name is shown',
    [...many, { name: 'files_read_file' }],
    'files_raed_file',
    'The server has no tool "files_raed_file"; did you mean files_read_file? "pannier tools" lists all 41.',
  ],
  [
    'a long list without a name like it is not shown',
    many,
    'calendar',
    'The server has no tool "calendar". "pannier tools" lists all 40.',
  ],
])('%s', (_, items, name, sentence) => {
  expect(() => findListed(name, { kind: 'tool', items, meta: undefined })).toThrow(
    expect.objectContaining({ message: sentence }),
  )
})
