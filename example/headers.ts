/** What every page of the example is sent with. `allowed` are the directives of its own. */
export const pageHeaders = (allowed: Readonly<Record<string, string>>): Record<string, string> => ({
  ...PAGE_HEADERS,
  'Content-Security-Policy': Object.entries({ ...NOTHING_ELSE, ...allowed })
    .map((directive) => directive.join(' '))
    .join('; '),
})

const NOTHING_ELSE = {
  'default-src': "'none'",
  'style-src': "'self'",
  'img-src': "'self'",
  'base-uri': "'none'",
  'frame-ancestors': "'none'",
}

/** Of pages that have scripts: files of their own, which build no HTML from text. */
export const SCRIPTS = {
  'script-src': "'self'",
  'connect-src': "'self'",
  'require-trusted-types-for': "'script'",
  'trusted-types': "'none'",
}

const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
}
