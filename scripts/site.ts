// `npm run site` builds the site of the documentation into site/dist. `-- --dev` serves it instead, and shows changes of
// the files as they are saved. `-- --base /docs/` is for a site that is not at the root of its host, and
// `-- --older 0.1.0,0.2.0` names the versions whose sites stand beside it, in folders of that name.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build, createServer } from 'vitepress'
import { root } from './repository.ts'

const { values } = parseArgs({
  options: {
    dev: { type: 'boolean', default: false },
    base: { type: 'string', default: '/' },
    older: { type: 'string', default: '' },
    port: { type: 'string', default: '5173' },
    out: { type: 'string', default: join(root, 'site/dist') },
  },
})
process.env['OLDER_VERSIONS'] = values.older
const site = join(root, 'site')
if (values.dev) {
  const server = await createServer(site, { base: values.base, port: Number(values.port) })
  await server.listen()
  server.printUrls()
} else await build(site, { base: values.base, outDir: values.out })
