/**
 * The short and the long form of `npm run simulate`, in processes of their own: timers and random numbers of other test files
 * would be those of the simulated processes.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compileCache } from '../../scripts/compileCache.ts'
import { amount } from '../amount.ts'

const PROGRAM = join(import.meta.dirname, 'run.ts')

/** What `npm run simulate` prints, without its speed; fails when something was violated. */
function simulate(options: string): Promise<string> {
  const args = ['--conditions=pannier-source', PROGRAM, ...options.split(' ')]
  // From its sources: a bundle keeps the functions of Node that a simulated world replaces.
  const env = { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: compileCache }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      const lines = stdout.trimEnd().split('\n')
      if (error === null) resolve(lines.slice(0, -1).join('\n'))
      else reject(new Error(`npm run simulate -- ${options}\n${lines.slice(-20).join('\n')}\n${stderr}`))
    })
  })
}

test('the same seed gives the same run', async () => {
  const [first, second] = await Promise.all([simulate('--seed 5'), simulate('--seed 5')])
  expect(first.split('\n').length).toBeGreaterThan(50)
  expect(second).toBe(first)
})

test('a call costs as many messages among fifty processes as among three', async () => {
  const costOf = async (processes: number): Promise<number> => {
    const calls = '--seed 1 --climate calm --directory members --clients 30 --cancels 0'
    return Number(/([\d.]+) messages each$/.exec(await simulate(`${calls} --processes ${processes}`))?.[1])
  }
  const [three, fifty] = await Promise.all([costOf(3), costOf(50)])
  console.log(`messages for each call: ${three} of 3 processes, ${fifty} of 50`)
  // Of three processes every third is the owner itself, of fifty hardly any: at most half as many messages more.
  expect(fifty).toBeLessThan(1.6 * three)
})

// A thousand runs in the short form. Two processes share them.
const EACH = amount(85, 500)

test.concurrent.each([
  `--seed 1 --runs ${EACH} --climate all`,
  `--seed ${EACH + 1} --runs ${EACH} --climate all`,
  `--seed 1 --runs ${amount(1, 5)} --climate all --processes 50`,
])(
  'in simulations (%s) each call has one outcome, in time, and nothing is left of it',
  async (options) => {
    await simulate(options)
  },
  900_000,
)
