import { expect, test } from 'vitest'
import { fenceProblems, fillFences } from '../../scripts/docs/fences.ts'

const example = `import { x } from 'y'
function main() {
  // #region ask
  const a = 1
  if (a) {
    // #region inner
    done()
    // #endregion inner
  }
  // #endregion ask
}
`
const read = (path: string): string | undefined => (path === 'examples/a.ts' ? example : undefined)
const tests = new Map([['test/e2e/a.test.ts', "import '../../examples/a.ts'"]])
const check = (page: string): string => fenceProblems(new Map([['README.md', page]]), tests, read).join('\n')

const ask = '```ts source="examples/a.ts#ask"\nconst a = 1\nif (a) {\n  done()\n}\n```\n'

test('a fence is filled from its region, without its indentation and inner region marks', () => {
  expect(fillFences('Before\n\n```ts source="examples/a.ts#ask"\nold\n```\n\nafter\n', read)).toBe(
    `Before\n\n${ask}\nafter\n`,
  )
})

test('a fence that equals its region, and one that is not code, are in order', () => {
  expect(check(`${ask}\n\`\`\`json\n{}\n\`\`\`\n`)).toBe('')
})

test.each([
  ['```ts\nconst a = 1\n```\n', 'needs source='],
  ['```js\nconst a = 1\n```\n', 'needs source='],
  ['1. step\n\n   ```ts\n   const a = 1\n   ```\n', 'indented ts fence'],
  ['```ts source="examples/a.ts#ask"\nold\n```\n', 'run npm run docs'],
  ['```ts source="examples/a.ts#nothing"\nold\n```\n', 'has no // #region nothing'],
  ['```ts source="examples/b.ts"\nold\n```\n', 'there is no file examples/b.ts'],
  ['```ts source="examples/b.ts"\nold\n```\n', 'no test names examples/b.ts'],
  ['```ts source="src/server/index.ts"\nold\n```\n', 'must lie in examples/ or docs/snippets/'],
])('the fence check finds a fault in %j', (page, message) => {
  expect(check(page)).toContain(message)
})
