// `npm run probe:fit`: fits the weights of the probe's method "tools" to the recordings whose part is "fit", and writes them to
// src/probe/methods/toolWeights.ts. The recordings whose part is "aside" are not used.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fitted, weightsFile } from './toolModel.ts'

const path = join(import.meta.dirname, '../src/probe/methods/toolWeights.ts')
writeFileSync(path, weightsFile(fitted()))
console.log(`Wrote ${path}.`)
