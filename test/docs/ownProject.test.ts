import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readText } from '../../scripts/repository.ts'

const run = promisify(execFile)

test("with the guide's tsconfig a second file is checked by tsc and found by Node", async () => {
  const section = readText('docs/how-to/start-a-project.md')
  const [, config = ''] = /```json\n(.*?)```/s.exec(section) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'pannier-own-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const files = {
    'package.json': '{ "type": "module" }',
    'tsconfig.json': config,
    'other.ts': "export interface Shop { readonly name: string }\nexport const shop: Shop = { name: 'books' }\n",
    'server.ts': "import { shop, type Shop } from './other.ts'\nconst { name }: Shop = shop\nconsole.log(name)\n",
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const checked = run(process.execPath, [resolve('node_modules/typescript/bin/tsc')], { cwd: folder })
  expect(await checked).toMatchObject({ stdout: '' })
  expect((await run(process.execPath, ['server.ts'], { cwd: folder })).stdout).toBe('books\n')
})
