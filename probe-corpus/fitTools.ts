// `npm run probe:fit`: fits the weights of the probe's methods "tools" and "program" to the recordings whose part is "fit", writes them to
// toolWeights.ts and program/weights.ts in src/probe/methods, and what they are worth to docs/reference/probe-accuracy.md. The recordings whose part is "aside" are only judged.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fittedProgram, programWeightsFile } from './programModel.ts'
import { fitted, weightsFile } from './toolModel.ts'

const root = join(import.meta.dirname, '..')
if (process.argv[2] === 'page') {
  // The weights are read when a program starts, so the page is written by a second one.
  const { recordingsPage } = await import('./measure.ts')
  const { withResults } = await import('./resultsPage.ts')
  const path = join(root, 'docs/reference/probe-accuracy.md')
  writeFileSync(path, withResults(readFileSync(path, 'utf8'), recordingsPage(), 'recordings'))
} else {
  writeFileSync(join(root, 'src/probe/methods/toolWeights.ts'), weightsFile(fitted()))
  writeFileSync(join(root, 'src/probe/methods/program/weights.ts'), programWeightsFile(fittedProgram()))
  const program = [...process.execArgv, import.meta.filename, 'page']
  process.exitCode = spawnSync(process.execPath, program, { stdio: 'inherit' }).status ?? 1
}
