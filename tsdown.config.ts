import { existsSync } from 'node:fs'
import { defineConfig } from 'tsdown'
import manifest from './package.json' with { type: 'json' }

// One entry per subpath export, found by its source condition, and the program behind `bin`.
const entry: Record<string, string> = {}
for (const target of [...Object.values(manifest.exports), { 'pannier-source': './src/cli/main.ts' }]) {
  if (typeof target === 'string') continue
  const source = target['pannier-source']
  if (existsSync(source)) entry[source.replace('./src/', '').replace('.ts', '')] = source
}

export default defineConfig({
  entry,
  format: 'esm',
  platform: 'node',
  // Installed by those who use /metrics.
  deps: { neverBundle: ['@opentelemetry/exporter-prometheus', '@opentelemetry/sdk-metrics'] },
  target: 'node22.18',
  fixedExtension: false,
  dts: true,
  clean: true,
  report: false,
})
