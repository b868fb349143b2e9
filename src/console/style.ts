/** The one style sheet. Each colour is named once, for light and dark; a tint is one of the text that stands on it. */
export const STYLE =
  `:root{color-scheme:light dark;--page:light-dark(#f4f6fa,#12161f);--card:light-dark(#fff,#1b212d);--line:light-dark(#dfe3ec,#343d4f);
--text:light-dark(#1c2333,#e8ecf4);--soft:light-dark(#586074,#a3adc2);--link:light-dark(#2346a8,#9db8ff);
--live:light-dark(#14612f,#8fe0ab);--warn:light-dark(#6e4a00,#f5d384);--bad:light-dark(#9b1c0c,#ffb1a3)}
*,::before{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
p,dl,dd,ol,pre{margin:0;padding:0}
h1{font-size:1.5rem;line-height:1.25}
h2{font-size:1.05rem;margin:0 0 .6rem}
small{display:block;font-size:.83em}
small,em,dt,time,label,summary,footer,.empty{color:var(--soft)}
code,pre{unicode-bidi:isolate;font:.88em ui-monospace,monospace;white-space:pre-wrap}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip:not(:focus){position:absolute;left:-99rem}
header,.line{display:flex;flex-wrap:wrap;align-items:end;gap:.5rem}
header{align-items:center;padding:.5rem 1.5rem;background:var(--card);border-bottom:1px solid var(--line)}
header nav{flex:1;margin-left:1rem;white-space:nowrap}
header a,.tabs a{padding:.35rem .75rem;border-radius:6px;color:inherit;text-decoration:none}
main,footer{max-width:1200px;margin:auto;padding:1.5rem 1.5rem 0}
main:focus{outline:0}
footer{padding-bottom:2rem;font-size:.85rem}
#fresh>*{margin:0 0 1.1rem}
.card,.filter,.records{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.9rem 1rem}
.empty{text-align:center}
.pill,.alarm,.error,#stale,[aria-current]{background:color-mix(in srgb,currentColor 12%,var(--card))}
.live{color:var(--live)}
.warn,#stale{color:var(--warn)}
.bad,.alarm,.error,.danger,.pill:has(.soon){color:var(--bad)}
.alarm,.error,#stale{padding:.6rem .9rem;border-left:4px solid;border-radius:6px}
.alarm a{color:inherit}
#stale:empty{display:none}
.pill{display:inline-block;margin-right:.3em;padding:0 .6em;border-radius:1em;font-size:.85em;white-space:nowrap}
.pill span,time{font-variant-numeric:tabular-nums}
.cards,.filter,.two{display:grid;gap:.75rem}
.cards{grid-template-columns:repeat(4,1fr) minmax(18rem,2fr)}
.cards b{display:block;font-size:1.7rem;line-height:1.25}
svg{display:block;width:100%;height:46px;margin:.25rem 0}
path{stroke:var(--line)}
.bar{stroke:#7d94d8;stroke-width:8}
.bar.bad{stroke:var(--bad)}
.card:has([open]),.filter p{grid-column:1/-1}
summary{cursor:pointer;font-size:.85rem}
[open]>summary{margin-bottom:.6rem}
.numbers{width:100%;max-width:44rem;font-size:.78rem;text-align:right;border-spacing:.2rem 0}
.numbers th{font-weight:400;overflow-wrap:normal}
.records{width:100%;padding:0;table-layout:fixed;border-spacing:0}
.records td,.records th{padding:.55rem .85rem;text-align:left;vertical-align:top;font-weight:400}
.records tbody>*>*{border-top:1px solid var(--line)}
.records thead th{font-size:.82rem}
.records th a{font-weight:600;color:inherit;text-decoration:none}
.records thead :first-child{width:24%}
.records thead :nth-child(n+3){width:15%}
.records thead :nth-child(6){width:6.6rem}
label{display:block;font-size:.85rem}
input,select,button,.button,.danger{min-height:2.2rem;padding:.35rem .8rem;border:1px solid #7c8598;border-radius:6px;background:var(--card);color:var(--text);font:inherit;text-decoration:none}
button,.button,.danger{display:inline-block;font-weight:600;white-space:nowrap;cursor:pointer}
.danger{border-color:currentColor;color:var(--bad)}
button{border:0;background:var(--link);color:var(--card)}
button.danger{background:var(--bad);color:var(--card)}
input,select{display:block;width:100%;margin-top:.15rem;background:var(--page)}
.filter{grid-template-columns:repeat(auto-fill,minmax(8.6rem,1fr))}
form.card{display:grid;gap:.7rem;max-width:34rem;justify-items:start}
form.card label{width:100%}
.line label{flex:1 1 18rem}
.two{grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));align-items:start}
.timeline{list-style:none;color:var(--link)}
.timeline li{position:relative;padding:0 0 .9rem 1.5rem}
.timeline li::before{content:"";position:absolute;left:.15rem;top:.35rem;width:.6rem;height:.6rem;border:.32rem solid;border-radius:50%}
.timeline li:not(:last-child)::after{content:"";position:absolute;left:.42rem;top:1.1rem;bottom:-.2rem;border-left:2px solid var(--line)}
.timeline .future::before{border-width:2px}
.timeline span{color:var(--text)}
dl div{display:grid;grid-template-columns:minmax(6rem,1fr) 2.6fr;gap:.6rem;padding:.3rem 0;border-top:1px solid var(--line)}
dl+p{margin-top:1rem}
dd{min-width:0}
@media(max-width:64rem){.cards{grid-template-columns:repeat(4,1fr)}.cards>:last-child{grid-column:1/-1}}
@media screen and (max-width:60rem){
.records :is(tbody,tr,td,th){display:block;padding:.25rem .45rem;border:0!important}
.records thead,.records td:empty{display:none}
.records tr+tr{border-top:1px solid var(--line)!important}
.records td small{display:inline;margin-left:.4rem}
}
@media(max-width:46rem){
header,main,footer{padding-left:.9rem;padding-right:.9rem}
.cards{grid-template-columns:1fr 1fr}
dl div{grid-template-columns:1fr;gap:0}
.numbers{font-size:.68rem;border-spacing:.1rem 0}
}
@media(forced-colors:active){.pill,.alarm,.error,#stale,[aria-current]{border:1px solid}.bar{stroke:CanvasText}.bar.bad{stroke:Highlight}}
@media print{
:root{color-scheme:light}
nav,form,details,.danger,section:has(form){display:none!important}
body,main{max-width:none;padding:0;background:#fff}
.records tr,section{break-inside:avoid}
}
`.replaceAll('\n', '')
