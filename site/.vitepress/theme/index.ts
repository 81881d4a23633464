import theme from 'vitepress/theme-without-fonts';
import './site.css';

export default theme;
