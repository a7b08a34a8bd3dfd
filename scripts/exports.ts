// `npm run exports`: writes the public names of each subpath to test/repo/exports.json.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { publicNames } from '../test/repo/exports.ts'
import { readIfThere, root } from './repository.ts'

const names = publicNames(manifest, readIfThere)
writeFileSync(join(root, 'test/repo/exports.json'), `${JSON.stringify(names, null, 2)}\n`)
