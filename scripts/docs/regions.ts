/** Parts of pages that are written by `npm run docs`, between `<!-- generated: NAME … -->` and `<!-- /generated -->`. */

const regionPattern = /^(<!-- generated: (?<what>.+?) -->)\n[^]*?^(<!-- \/generated -->)$/gm

/** What the regions of a page are to hold, such as `exports pannier/server`. */
export function regionsIn(page: string): string[] {
  return [...page.matchAll(regionPattern)].map(({ groups }) => groups?.['what'] ?? '')
}

/** The page with every region filled. */
export function fillRegions(page: string, write: (what: string) => string): string {
  return page.replace(
    regionPattern,
    (_, open: string, what: string, close: string) => `${open}\n\n${write(what)}\n\n${close}`,
  )
}

/** The page with empty regions: what is written by hand. */
export function withoutRegions(page: string): string {
  return page.replace(regionPattern, (whole) => whole.replace(/[^\n]+/g, ''))
}
